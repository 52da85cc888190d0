"""What the attacks on the command share."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SESSION = ROOT / "examples/sessions/price-lists-codex.jsonl"


def check(what, wrong, tried):
    """Counts what was tried, and fails with the first of what went wrong."""
    for one in wrong[:12]:
        print("wrong:", one, flush=True)
    if wrong:
        raise AssertionError(f"{what}: {len(wrong)} of {tried:,} wrong")
    print(f"ok: {what} ({tried:,} tried)", flush=True)
