"""Format 1: fixed columns (M2)."""

from .reading import FLAGS, ArchiveError, Reading


def check(text):
    """CRC-16/CCITT."""
    value = 0xFFFF
    for byte in text.encode("ascii"):
        value ^= byte << 8
        for _ in range(8):
            value = (value << 1) ^ 0x1021 if value & 0x8000 else value << 1
            value &= 0xFFFF
    return value


def line(reading):
    """A reading as a line."""
    body = f"{reading.meter:<5}{reading.minute:>8}{reading.counter:06d}{reading.flag}"
    return f"{body}{check(body):04x}"


def parse_line(text, number):
    if len(text) != 24:
        raise ArchiveError(number, f"24 columns, got {len(text)}")
    body, found = text[:20], text[20:]
    if found != f"{check(body):04x}":
        raise ArchiveError(number, f"check is {found}, should be {check(body):04x}")
    if body[19] not in FLAGS:
        raise ArchiveError(number, f"no flag is written {body[19]!r}")
    return Reading(body[:5].strip(), int(body[5:13]), int(body[13:19]), body[19])


def parse(text):
    """All readings of a file."""
    lines = enumerate(text.splitlines(), 1)
    return [parse_line(entry, number) for number, entry in lines if entry and not entry.startswith("#")]


def write(readings):
    return "".join(line(reading) + "\n" for reading in readings)
