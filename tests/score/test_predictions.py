"""Maps of ZipMap as structs, and predictions by scikit-learn's conventions."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sardonyx as sx

TABLE = pa.table({"a": [1.0, -2.0, 0.0], "b": [0.5, 1.0, 0.0]})
# The logistic function of a + b, and its complement.
EXPECTED = 1 / (1 + np.exp(-np.array([1.5, -1.0, 0.0])))


def classifier(labels: list[str], *, has_maps: bool = True) -> sx.Model:
    b = sx.Builder(opset=17, imports={"ai.onnx.ml": 3})
    ml = b.domain("ai.onnx.ml")
    label, scores = ml.LinearClassifier(
        b.input("x", "float32", ["N", 2]),
        coefficients=[-1.0, -1.0, 1.0, 1.0],
        intercepts=[0.0, 0.0],
        classlabels_strings=labels,
        post_transform="LOGISTIC",
    )
    return b.model(label=label, scores=ml.ZipMap(scores, classlabels_strings=labels) if has_maps else scores)


def test_maps_are_structs() -> None:
    result = sx.score(classifier(["no", "yes"]), TABLE, keep=["a"]).table
    assert result is not None
    assert result.column_names == ["a", "label", "scores"]
    assert [field.name for field in result.schema.field("scores").type] == ["no", "yes"]
    np.testing.assert_allclose([row["yes"] for row in result["scores"].to_pylist()], EXPECTED, rtol=1e-6)
    assert result["label"].to_pylist()[:2] == ["yes", "no"]


def test_maps_of_an_open_session_are_structs() -> None:
    session = sx.Session(classifier(["no", "yes"]), engine="reference")
    result = sx.score(session, TABLE, outputs=["scores"]).table
    assert result is not None
    np.testing.assert_allclose([row["yes"] for row in result["scores"].to_pylist()], EXPECTED, rtol=1e-6)


def test_structs_are_columns_of_csv(tmp_path: Path) -> None:
    sx.score(classifier(["no", "yes"]), TABLE, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == '"label","scores.no","scores.yes"'


@pytest.mark.parametrize("has_maps", [True, False])
def test_predictions_of_a_classifier(has_maps: bool) -> None:
    predictor = sx.Predictor(classifier(["no", "yes"], has_maps=has_maps))
    assert predictor.predict(TABLE).tolist()[:2] == ["yes", "no"]
    np.testing.assert_allclose(predictor.predict_proba(TABLE)[:, 1], EXPECTED, rtol=1e-6)
    rows = np.array([[1.0, 0.5]])
    np.testing.assert_array_equal(predictor.predict_proba(rows), predictor.predict_proba(TABLE)[:1])


def test_predictions_of_probabilities_and_numbers() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 2])
    probabilities = sx.Predictor(b.model(p=b.Softmax(x, axis=1)))
    assert probabilities.predict(TABLE).tolist() == [0, 1, 0]
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 2])
    regressor = sx.Predictor(b.model(y=b.ReduceSum(x, [1])))
    assert regressor.predict(TABLE).tolist() == [1.5, -1.0, 0.0]
    with pytest.raises(sx.InputError, match="row 0: column 'a' is null"):
        regressor.predict(pa.table({"a": pa.array([None], pa.float32()), "b": [1.0]}))


def test_scorers_score_batches_and_can_be_pickled() -> None:
    scorer = pickle.loads(pickle.dumps(sx.Scorer(classifier(["no", "yes"]), keep=["b"])))
    (batch,) = TABLE.to_batches()
    assert scorer(batch).column("label").to_pylist()[:2] == ["yes", "no"]
    assert scorer(batch.slice(0, 0)).schema == scorer(batch).schema
    assert scorer.score(TABLE).equals(pa.Table.from_batches([scorer(batch)]))
