"""The functions of docs/scoring.md that score data frames of pandas and polars."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import sardonyx as sx
from page_code import page_names

PAGE = Path(__file__).resolve().parents[2] / "docs/scoring.md"
LIBRARIES: dict[str, Any] = {"pandas": pandas, "polars": polars}


@pytest.mark.parametrize("library", LIBRARIES)
def test_functions_of_the_page_score_data_frames(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    score = page_names(PAGE)[f"score_{library}"]
    assert callable(score)
    frame = score(LIBRARIES[library].DataFrame({"id": [7, 8], "width": [1.0, 2.0], "height": [0.5, 1.0]}))
    assert isinstance(frame, LIBRARIES[library].DataFrame)
    assert list(frame.columns) == ["id", "p"]
    assert frame["id"].to_list() == [7, 8]
    assert frame["p"].to_list() == [0.5, 0.5]


@pytest.mark.parametrize("library", LIBRARIES)
def test_predictors_and_jobs_take_data_frames(library: str) -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 2])
    model = b.model(p=b.Softmax(x, axis=1))
    frame = LIBRARIES[library].DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    predictor = sx.Predictor(model)
    assert predictor.predict(frame).tolist() == [1, 0]
    np.testing.assert_allclose(predictor.predict_proba(frame).sum(axis=1), 1, rtol=1e-6)
    result = sx.score(model, frame).table
    assert result is not None and result.num_rows == 2


def test_sparse_columns_of_pandas_are_read() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 2])
    frame = pandas.DataFrame({"a": pandas.arrays.SparseArray([0.0, 2.0]), "b": [1.0, 0.0]})
    model = b.model(p=b.Neg(x))
    result = sx.score(model, frame, columns={"x": ["a", "b"]}).table
    assert result is not None and result["p"].to_pylist() == [[0.0, -1.0], [-2.0, 0.0]]
    assert sx.Predictor(model).predict_proba(frame).tolist() == [[0.0, -1.0], [-2.0, 0.0]]
