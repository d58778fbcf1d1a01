"""The function of docs/scoring.md that scores data frames of Spark with `mapInArrow`, on a local Spark of two processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

import sardonyx as sx
from page_code import page_names

PAGE = Path(__file__).resolve().parents[2] / "docs/scoring.md"
ROWS = 2000
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "300",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[object], Any]:
    """`score_spark` of the page, whose other blocks write its model and table into the current folder."""
    monkeypatch.chdir(tmp_path)
    function = page_names(PAGE)["score_spark"]
    assert callable(function)
    return function


def test_partitions_are_scored_as_one_process_scores_them(
    spark: SparkSession, score: Callable[[object], Any]
) -> None:
    rng = np.random.default_rng(0)
    widths, heights = rng.normal(size=(2, ROWS)).tolist()
    rows = list(zip(range(ROWS), widths, heights, strict=True))
    frame = spark.createDataFrame(rows, "id long, width double, height double").repartition(3)
    scored = {row["id"]: row["p"] for row in score(frame).collect()}
    import pyarrow as pa

    table = pa.table({"id": range(ROWS), "width": widths, "height": heights})
    expected = sx.score("m.onnx", table, columns={"x": ["width", "height"]}).table
    assert expected is not None
    assert [scored[i] for i in range(ROWS)] == expected["p"].to_pylist()
    assert len(scored) == ROWS


def test_a_bad_row_is_an_error_with_its_reason(spark: SparkSession, score: Callable[[object], Any]) -> None:
    frame = spark.createDataFrame([(7, 1.0, None)], "id long, width double, height double")
    with pytest.raises(Exception, match="InputError: row 0: column 'height' is null"):
        score(frame).collect()
