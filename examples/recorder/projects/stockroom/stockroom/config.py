"""Settings from an INI file with checked names and types."""

import configparser
from dataclasses import dataclass, fields

from .errors import ConfigError


@dataclass(frozen=True)
class Settings:
    """Everything that can be set, with its default."""

    currency: str = "EUR"
    order_prefix: str = "SO"
    look_back_days: int = 28
    review_days: int = 7
    lead_days: int = 5
    data_folder: str = "var"
    strict_import: bool = False


def parse(text):
    """Settings from INI text; the section is ``[stockroom]``."""
    parser = configparser.ConfigParser()
    try:
        parser.read_string(text)
    except configparser.Error as problem:
        raise ConfigError(str(problem).replace("\n", " ")) from problem
    if not parser.has_section("stockroom"):
        return Settings()
    known = {field.name: field for field in fields(Settings)}
    values = {}
    for name, raw in parser.items("stockroom"):
        if name not in known:
            raise ConfigError(f"unknown setting {name!r}, known are {', '.join(sorted(known))}", setting=name)
        values[name] = _convert(name, raw, known[name].type)
    return Settings(**values)


def _convert(name, raw, kind):
    if kind in (bool, "bool"):
        lowered = raw.strip().lower()
        if lowered not in ("yes", "no", "true", "false"):
            raise ConfigError(f"{name}: yes or no, got {raw!r}", setting=name)
        return lowered in ("yes", "true")
    if kind in (int, "int"):
        try:
            return int(raw)
        except ValueError:
            raise ConfigError(f"{name}: a whole number, got {raw!r}", setting=name) from None
    return raw.strip()
