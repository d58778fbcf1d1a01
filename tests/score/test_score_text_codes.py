"""Strings that a model only looks up, which its session takes as codes: results to the bit those of the model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.score.model.table_models import open_model

LOOKUPS = """g (string[N,1] c, string[N] d, float[N,1] x) => (float[N,1] y, int64[N] e, float[N,3] o) <int64[2] s = {-1, 3}> {
    a = ai.onnx.ml.LabelEncoder <keys_strings = ["u", "v"], values_floats = [0.5, 1.5], default_float = -2.0> (c)
    h = ai.onnx.ml.OneHotEncoder <cats_strings = ["v", "w", "u"], zeros = 1> (c)
    o = Reshape(h, s)
    y = Mul(a, x)
    e = ai.onnx.ml.CategoryMapper <cats_strings = ["p", "q", "p"], cats_int64s = [7, 8, 9], default_int64 = -1> (d)
}"""
TENSORS = """g (string[N] c) => (double[N] y) {
    y = ai.onnx.ml.LabelEncoder <keys_tensor = string[3] {"u", "é", "u"}, values_tensor = double[3] {1, 2, 3}> (c)
}"""
INDICES = """g (string[N] c) => (int64[N] y) {
    y = ai.onnx.ml.LabelEncoder <classes_strings = ["u", "v"]> (c)
}"""


def ml_model(text: str, opset: int = 4) -> sx.Model:
    return parse_model(text, more=f'"ai.onnx.ml": {opset}')


def tables(seed: int, rows: int = 500) -> pa.Table:
    rng = np.random.default_rng(seed)
    texts = np.array(["u", "v", "w", "é", "", "unknown"], object)
    return pa.table(
        {
            "c": pa.array(texts[rng.integers(0, 6, rows)]),
            "d": pa.array(np.array(["p", "q", "r"], object)[rng.integers(0, 3, rows)]),
            "x": rng.standard_normal(rows, np.float32),
        }
    )


def scored(model: object, table: object) -> pa.Table:
    result = sx.score(model, table).table  # type: ignore[arg-type]
    assert result is not None
    return result


@pytest.mark.parametrize(
    ("text", "opset", "inputs"), [(LOOKUPS, 3, "cd"), (TENSORS, 4, "c"), (INDICES, 1, "c")]
)
def test_results_are_those_of_the_model_to_the_bit(text: str, opset: int, inputs: str) -> None:
    model = ml_model(text, opset)
    assert set(open_model(model, "auto", 1).vocabularies) == set(inputs)
    table = tables(0)
    expected = scored(
        sx.Session(model, engine="reference"), table
    )  # a session runs as it was opened, with strings
    assert scored(model, table).equals(expected)


@pytest.mark.parametrize(
    "encode",
    [
        lambda column: column.cast(pa.large_string()),
        lambda column: column.dictionary_encode(),
        lambda column: pa.chunked_array([pa.array(column.to_pylist()).dictionary_encode()]).slice(3),
    ],
    ids=["large", "dictionary", "slice"],
)
def test_columns_of_any_encoding_have_codes(encode: object) -> None:
    model, column = ml_model(TENSORS), tables(1)["c"]
    encoded = pa.table({"c": encode(column)})  # type: ignore[operator]
    expected = scored(model, pa.table({"c": column.slice(len(column) - encoded.num_rows)}))
    assert scored(model, encoded).equals(expected)


def test_a_dictionary_larger_than_its_batch() -> None:
    texts = [f"text {i}" for i in range(1000)] + ["u"]
    column = pa.array(texts).dictionary_encode().slice(990)
    assert scored(ml_model(TENSORS), pa.table({"c": column}))["y"].to_pylist()[-1] == 3.0


def test_parquet_folders_with_partitions_and_kept_columns(tmp_path: Path) -> None:
    table = tables(2)
    for number, country in enumerate(("fr", "de")):
        folder = tmp_path / f"in/country={country}"
        folder.mkdir(parents=True)
        part = table.slice(250 * number, 250)
        pq.write_table(part, folder / "part.parquet", use_dictionary=bool(number), row_group_size=64)
    model = ml_model(LOOKUPS, 3)
    kept = sx.score(model, tmp_path / "in", keep=["c", "country"]).table
    assert kept is not None
    order = pa.concat_tables([table.slice(250), table.slice(0, 250)])  # in the order of the paths
    assert kept["c"].to_pylist() == order["c"].to_pylist()
    assert kept["country"].to_pylist() == ["de"] * 250 + ["fr"] * 250
    assert kept.drop_columns(["c", "country"]).equals(scored(model, order))
    assert scored(model, tmp_path / "in").equals(scored(model, order))


def test_nulls_are_bad_rows_or_take_their_default() -> None:
    model = ml_model(TENSORS)
    table = pa.table({"c": pa.array(["u", None])})
    with pytest.raises(sx.InputError, match="row 1: column 'c' is null"):
        sx.score(model, table)
    result = sx.score(model, table, defaults={"c": "é"}).table
    assert result is not None and result["y"].to_pylist() == [3.0, 2.0]
    with pytest.raises(sx.InputError, match="column 'c' must hold string; got int64"):
        sx.score(model, pa.table({"c": [1]}))


@pytest.mark.parametrize(
    "body",
    [
        'y = ai.onnx.ml.OneHotEncoder <cats_strings = ["u"], zeros = 0> (c)',  # unknown strings are errors
        'y = ai.onnx.ml.LabelEncoder <keys_strings = ["u"], values_strings = ["v"]> (c)',
        'l = ai.onnx.ml.LabelEncoder <keys_strings = ["u"], values_int64s = [1]> (c) y = Identity(c)',
        "y = ai.onnx.ml.LabelEncoder <keys_int64s = [1], values_int64s = [1]> (i)",
    ],
)
def test_other_uses_of_strings_stay(body: str) -> None:
    types = {"OneHot": "float", "values_strings": "string", "Identity": "string"}
    output = next((type for word, type in types.items() if word in body), "int64")
    model = ml_model(
        f"g (string[N] c, int64[N] i) => ({output} y, int64[N] z) {{ {body} z = Identity(i) }}", 3
    )
    assert not open_model(model, "reference", 1).vocabularies


def test_rejects_have_the_strings_and_not_their_codes(tmp_path: Path) -> None:
    table = tables(3, rows=300)
    column = pa.array([None if i == 200 else text for i, text in enumerate(table["c"].to_pylist())])
    pq.write_table(table.set_column(0, "c", column), tmp_path / "in.parquet", row_group_size=100)
    model, bad = ml_model(LOOKUPS, 3), tmp_path / "bad.jsonl"
    result = sx.score(model, tmp_path / "in.parquet", rejects=bad, batch_rows=64, workers=2)
    record = json.loads(bad.read_text())
    assert (record["row"], record["reason"]) == (200, "column 'c' is null")
    assert record["values"]["c"] is None and record["values"]["d"] == table["d"][200].as_py()
    kept = [i for i in range(300) if i != 200]
    assert result.table is not None and result.table.equals(scored(model, table.take(kept)))
