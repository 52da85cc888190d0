"""`compare`: the rows of the command, as tables of other libraries."""

import json
from pathlib import Path

import pytest

import foldback

SESSIONS = Path(__file__).resolve().parents[3] / "examples" / "sessions"
SESSION = SESSIONS / "refunds-pydantic-ai.json"


@pytest.fixture(scope="module")
def comparison():
    return foldback.compare(SESSION, ["none", "window"], window=40_000, max_output=4_000)


def test_it_is_the_commands_comparison(comparison):
    told = json.loads(comparison.json())
    assert len(comparison) > 0 and "window" in str(comparison)
    assert told["provenance"]["command"].startswith("foldback compare ") and "--window 40000" in told["provenance"]["command"]


def test_an_arrow_stream_may_be_taken_more_than_once(comparison):
    first, second = comparison.__arrow_c_stream__(), comparison.__arrow_c_stream__(None)
    assert "arrow_array_stream" in repr(first) and first is not second


def test_libraries_read_it(comparison):
    pyarrow = pytest.importorskip("pyarrow", reason="the quick part of the tests leaves it out")
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table, told = pyarrow.table(comparison), json.loads(comparison.json())
    assert table.num_rows == len(comparison) and table.schema.metadata[b"foldback.schema"] == b"foldback/row/2"
    assert table.schema.metadata[b"foldback.command"].decode() == told["provenance"]["command"]
    assert set(table["command"].to_pylist()) == {told["provenance"]["command_hash"]}
    names = table.schema.names
    assert not table.schema.field("call").nullable and table.schema.field("start_ms").nullable
    frame = comparison.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == names and len(frame) == len(comparison)
    other = comparison.to_polars()
    assert isinstance(other, polars.DataFrame) and other.columns == names
    sums = table.group_by("preset").aggregate([("input_tokens", "sum")]).to_pylist()
    by_preset = {row["preset"]: row["input_tokens_sum"] for row in sums}
    assert by_preset == frame.groupby("preset")["input_tokens"].sum().to_dict()
    assert by_preset == dict(other.group_by("preset").agg(polars.col("input_tokens").sum()).iter_rows())
    window = next(name for name in by_preset if name.startswith("window"))
    assert by_preset[window] < by_preset["none"]


def test_nothing_is_copied_for_arrow(comparison):
    """Two tables of one comparison have the same memory."""
    pyarrow = pytest.importorskip("pyarrow", reason="the quick part of the tests leaves it out")
    tables = [pyarrow.table(comparison) for _ in range(2)]
    places = [[buffer.address for buffer in table["input_tokens"].chunk(0).buffers() if buffer] for table in tables]
    assert places[0] == places[1]


@pytest.mark.parametrize(
    "paths, presets, options, says",
    [
        ("missing", None, {}, "missing"),
        (SESSION, ["nonne"], {}, "nonne"),
        (SESSION, None, {"window": 0}, "window"),
        (SESSION, None, {"prices": "free"}, "free"),
        ([], None, {}, "no session"),
        ("--help", None, {}, "--help"),
    ],
)
def test_bad_arguments_are_one_error(paths, presets, options, says):
    with pytest.raises(foldback.Error, match=says):
        foldback.compare(paths, presets, **options)


def test_parts_are_compared_as_one(tmp_path):
    sessions = sorted(path for path in SESSIONS.iterdir() if path.suffix in {".json", ".jsonl"})
    design = {"presets": ["none", "window"], "window": 40_000}
    parts = [tmp_path / str(number) for number in range(2)]
    foldback.score(sessions[:1], parts[0], **design)
    foldback.score(sessions[1:], parts[1], **design)
    apart, whole = foldback.compare(reversed(parts), **design), foldback.compare(sessions, **design)
    told = [json.loads(comparison.json()) for comparison in (apart, whole)]
    # The command lines that they quote name other files.
    assert [one["provenance"].pop(name) for one in told for name in ("command", "command_hash")].count(None) == 0
    assert told[0] == told[1]
    with pytest.raises(foldback.Error, match="another window"):
        foldback.compare(parts, presets=["window"], window=50_000)
