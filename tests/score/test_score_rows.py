"""Elements of columns as elements of inputs, and rows that cannot be scored."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.score.model.inputs import InputColumns
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.score.model.tensors import feeds_of
from sardonyx._src.tables import text_tables

UTC = datetime.UTC
PAIRS = [[1.0, 2.0], [3.0, 4.0]]


def feed(column: pa.Array, type: str, **options: object) -> object:
    """What a model that returns its input gets from a column."""
    model = parse_model(f"g ({type} x) => ({type} y) {{ y = Identity(x) }}")
    table = sx.score(sx.Session(model, engine="reference"), pa.table({"x": column}), **options).table  # type: ignore[arg-type]
    assert table is not None
    return table["y"].to_pylist()


@pytest.mark.parametrize(
    ("column", "type", "expected"),
    [
        (pa.array([1, 2], pa.int8()), "float[N]", [1.0, 2.0]),
        (pa.array([1.0, 2.0]), "int32[N,1]", [1, 2]),
        (pa.array([True, False]), "float[N]", [1.0, 0.0]),
        (pa.array([True, False]), "bool[N]", [True, False]),
        (pa.array([2**53 + 1]), "double[N]", [2.0**53]),
        (pa.array([1.5, 2.5]), "bfloat16[N]", [1.5, 2.5]),
        (pa.array([decimal.Decimal("1.25")]), "float[N]", [1.25]),
        (pa.array(["a", "b"]), "string[N]", ["a", "b"]),
        (pa.array(["a", "b", "a"] * 200).dictionary_encode(), "string[N,1]", ["a", "b", "a"] * 200),
        (pa.array(["a", "b", "a"] * 200, pa.large_string()), "string[N]", ["a", "b", "a"] * 200),
        (pa.array([3, 4, 3]).dictionary_encode(), "int64[N]", [3, 4, 3]),
        (pa.array([datetime.datetime(1970, 1, 2, tzinfo=UTC)], pa.timestamp("ms")), "int64[N]", [86_400_000]),
        (pa.array([1_500], pa.timestamp("ms")), "double[N]", [1.5]),
        (pa.array([datetime.date(1970, 1, 3)]), "int64[N]", [2]),
        (pa.array([datetime.date(1970, 1, 3)]), "float[N]", [172_800.0]),
        (pa.array([datetime.date(1970, 1, 3)], pa.date64()), "int64[N]", [2]),
        (pa.array([datetime.date(1970, 1, 3)], pa.date64()), "int32[N,1]", [2]),
        (pa.array([datetime.date(1970, 1, 3)], pa.date64()), "double[N]", [172_800.0]),
        (pc.run_end_encode(pa.array([1.5, 1.5, 2.5, 2.5, 3.5])).slice(1, 3), "float[N]", [1.5, 2.5, 2.5]),
        (pc.run_end_encode(pa.array(["a", "a", "b"])), "string[N]", ["a", "a", "b"]),
        (pa.array([[9.0], [1.0, 2.0], [3.0, 4.0]], pa.list_view(pa.float64())).slice(1), "float[N,2]", PAIRS),
        (pa.array([[1.0, 2.0], [3.0, 4.0]], pa.large_list_view(pa.float32())), "float[N,2]", PAIRS),
        (pa.array(["a", "b"], pa.string_view()), "string[N]", ["a", "b"]),
        (pa.array([[1.0, 2.0], [3.0, 4.0]]), "float[N,2]", [[1.0, 2.0], [3.0, 4.0]]),
        (pa.array([[1, 2, 3, 4]], pa.list_(pa.int16(), 4)), "float[N,2,2]", [[[1.0, 2.0], [3.0, 4.0]]]),
        (pa.array([[[1.0], [2.0]]]), "float[N,2,1]", [[[1.0], [2.0]]]),
        (pa.array([[1.0], [2.0, 3.0], [4.0]]), "float[N,T]", [[1.0], [2.0, 3.0], [4.0]]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_elements_convert(column: pa.Array, type: str, expected: object) -> None:
    assert feed(column, type) == expected


@pytest.mark.parametrize(
    ("column", "type", "reason"),
    [
        (pa.array([1.0, 2.5]), "int64[N]", "row 1: column 'x': .*2.5"),
        (pa.array([1, 300]), "uint8[N]", "row 1: column 'x': .*300"),
        (pa.array([1.0, None]), "float[N]", "row 1: column 'x' is null"),
        (pa.array([1, None]), "float[N]", "row 1: column 'x' is null"),
        (pa.array(["a", None]), "string[N]", "row 1: column 'x' is null"),
        (pa.array([None, None]), "float[N]", "row 0: column 'x' is null"),
        (pa.array([[1.0, 2.0], [3.0]]), "float[N,2]", "row 1: column 'x' must have lists of 2 elements"),
        (pa.array([[1.0, 2.0], None]), "float[N,T]", "row 1: column 'x' is null"),
        (pa.array([[1.0], [None]]), "float[N,1]", "row 1: column 'x' has a null in its list"),
        (pa.array([1.0]), "string[N]", "column 'x' must hold string; got double"),
        (pa.array(["1"]), "float[N]", "column 'x' must hold float; got string"),
        (pa.array([1, 86_400_000]).view(pa.date64()), "int64[N]", "row 0: column 'x': .*would lose data"),
        (pa.array([None, 300]), "uint8[N]", "row 0: column 'x' is null"),
    ],
    ids=str,
)
def test_elements_that_do_not_convert_are_errors(column: pa.Array, type: str, reason: str) -> None:
    with pytest.raises(sx.InputError, match=reason):
        feed(column, type)


def test_nulls_become_what_the_caller_chose() -> None:
    column = pa.array([1, None, 3])
    assert feed(column, "float[N]", defaults={"x": 7}) == [1.0, 7.0, 3.0]
    assert feed(pa.array([None, "b"]), "string[N]", defaults={"x": "none"}) == ["none", "b"]
    assert str(feed(column, "float[N]", nulls="nan")) == "[1.0, nan, 3.0]"
    assert str(feed(pa.array([[1.0, None]]), "float[N,2]", nulls="nan")) == "[[1.0, nan]]"
    with pytest.raises(sx.InputError, match="row 1: column 'x' is null"):
        feed(column, "int64[N]", nulls="nan")
    with pytest.raises(sx.InputError, match="the default of column 'x' must be int64; got 'text'"):
        feed(column, "int64[N]", defaults={"x": "text"})


@pytest.mark.parametrize("options", [{}, {"nulls": "nan"}, {"defaults": {"x": "2"}}], ids=str)
def test_texts_are_no_numbers_whatever_becomes_of_nulls(options: dict[str, object]) -> None:
    with pytest.raises(sx.InputError, match="column 'x' must hold float; got string"):
        feed(pa.array(["1", None]), "float[N]", **options)


def test_sparse_columns_of_data_frames_are_read() -> None:
    """A stand-in for pandas: Arrow refuses sparse columns, whose types have `fill_value` and `subtype`."""

    class Frame:
        def __init__(self, dtypes: dict[str, object]) -> None:
            self.dtypes = dtypes

        def astype(self, types: dict[str, object]) -> Frame:
            return Frame({**self.dtypes, **types})

        def __arrow_c_stream__(self, schema: object = None) -> object:
            if any(not isinstance(kind, str) for kind in self.dtypes.values()):
                raise TypeError("Sparse pandas data (column x) not supported.")
            return pa.table({"x": [0.0, 1.5]}).__arrow_c_stream__(schema)

    model = parse_model("g (float[N] x) => (float[N] y) { y = Identity(x) }")
    sparse = SimpleNamespace(fill_value=0.0, subtype="float64")
    table = sx.score(sx.Session(model, engine="reference"), Frame({"x": sparse, "z": "int64"})).table
    assert table is not None and table["y"].to_pylist() == [0.0, 1.5]
    with pytest.raises(sx.InputError, match=r"got Frame: Sparse pandas data \(column x\) not supported"):
        sx.score(sx.Session(model, engine="reference"), Frame({"x": object()}))


def rejected(path: Path) -> list[tuple[int, str]]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [(record["row"], record["reason"]) for record in records]


@pytest.mark.parametrize("batch_rows", [1, 4, 100])
def test_bad_rows_go_to_the_rejects_file(batch_rows: int, tmp_path: Path) -> None:
    model = parse_model("g (int64[N] a, float[N,2] b) => (int64[N] y) <int64 c = {6}> { y = Div(c, a) }")
    table = pa.table(
        {
            "a": [1, 0, 2, None, 3, 6],
            "b": [[0.0, 1.0], [0.0, 1.0], [0.0], [0.0, 1.0], None, [0.0, 1.0]],
            "id": list("abcdef"),
        }
    )
    session = sx.Session(model, engine="reference")
    result = sx.score(session, table, keep=["id"], rejects=tmp_path / "bad.jsonl", batch_rows=batch_rows)
    assert result.table is not None
    assert result.table.to_pydict() == {"id": ["a", "f"], "y": [6, 1]}
    assert (result.rows, result.rejected) == (6, 4)
    rows, reasons = zip(*rejected(tmp_path / "bad.jsonl"), strict=True)
    assert rows == (1, 2, 3, 4)
    assert "division by zero" in reasons[0].lower() or "divi" in reasons[0]
    assert reasons[1:] == (
        "column 'b' must have lists of 2 elements",
        "column 'a' is null",
        "column 'b' is null",
    )


def test_a_failing_model_names_the_rows() -> None:
    model = parse_model("g (int64[N] a) => (int64[N] y) <int64 c = {6}> { y = Div(c, a) }")
    with pytest.raises(sx.EvaluationError) as caught:
        sx.score(sx.Session(model, engine="reference"), pa.table({"a": [1, 0]}), batch_rows=1)
    assert caught.value.__notes__ == ["in rows 1 to 1 of the source"]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_text_that_does_not_parse_is_rejected(suffix: str, tmp_path: Path) -> None:
    texts = {
        "csv": "a,id\n1,p\nten,q\n3\n4,s\n,t\n",
        "jsonl": '{"a": 1, "id": "p"}\n{"a": "ten", "id": "q"}\n{"a": 3\n{"a": 4, "id": "s"}\n{"id": "t"}\n',
    }
    (tmp_path / f"in.{suffix}").write_text(texts[suffix])
    session = sx.Session(parse_model("g (float[N] a) => (float[N] y) { y = Neg(a) }"), engine="reference")
    source, bad = tmp_path / f"in.{suffix}", tmp_path / "bad.jsonl"
    result = sx.score(session, source, keep=["id"], rejects=bad)
    assert result.table is not None
    assert result.table.to_pydict() == {"id": ["p", "s"], "y": [-1.0, -4.0]}
    assert [row for row, _ in rejected(bad)] == [1, 2, 4]
    with pytest.raises(sx.InputError, match="row 1: "):
        sx.score(session, source)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_integers_of_text_may_be_followed_by_other_numbers(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_tables, "BLOCK_BYTES", 24)
    values = [*range(20), 0.5]
    lines = [f'{{"a": {value}}}' if suffix == "jsonl" else str(value) for value in values]
    (tmp_path / f"in.{suffix}").write_text("\n".join(lines if suffix == "jsonl" else ["a", *lines]))
    session = sx.Session(parse_model("g (float[N] a) => (float[N] y) { y = Neg(a) }"), engine="reference")
    result = sx.score(session, tmp_path / f"in.{suffix}").table
    assert result is not None
    assert result["y"].to_pylist() == [-float(value) for value in values]


@pytest.mark.parametrize(
    ("column", "dims"),
    [
        (pa.array([1.0, 2.0], pa.float32()), (1,)),
        (pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2)), (2,)),
        (pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32())), (2,)),
    ],
    ids=["numbers", "fixed-size lists", "lists"],
)
def test_columns_of_the_type_of_the_input_are_not_copied(column: pa.Array, dims: tuple[int]) -> None:
    plan = InputColumns("x", sx.DataType.FLOAT, ("x",), dims)
    feeds = feeds_of(pa.RecordBatch.from_arrays([column], ["x"]), [plan], ScoreOptions())
    assert feeds["x"].__array_interface__["data"][0] == column.buffers()[-1].address
