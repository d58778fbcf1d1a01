"""Runs of models on the same seeded inputs, and comparison of their results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.measure.random_feeds import random_feeds
from sardonyx._src.ops.api import RuntimeValue

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"


def load_shared_model(name: str) -> Model:
    """A real model; the test is skipped if the models are not available."""
    path = MODELS / name / "model.onnx"
    if not path.exists():
        pytest.skip("the shared models are not available")
    return sx.load(path)


def feeds_of(model: Model, sizes: Mapping[str, int] | None = None, seed: int = 0) -> dict[str, object]:
    return dict(random_feeds(sx.Session(model).inputs, {}, seed, sizes or {}).values)


def reference_feeds(name: str) -> dict[str, object]:
    """The inputs stored with a shared model."""
    result = np.load(MODELS / name / "ref.npz")
    return {key.removeprefix("in:"): value for key, value in result.items() if key.startswith("in:")}


def only_result(model: Model, feeds: Mapping[str, object]) -> object:
    """The one output, as a list."""
    (result,) = results(model, feeds)
    return np.asarray(result).tolist()


def results(model: Model, feeds: Mapping[str, object]) -> list[RuntimeValue]:
    """The outputs in order, of a model whose edges are right."""
    verify(model)
    return list(sx.Session(model, engine="reference").run(feeds).values())


def assert_same_results(actual: object, expected: object) -> None:
    """Asserts that results are equal to the bit."""
    if isinstance(expected, list):
        assert isinstance(actual, list)
        for a, e in zip(actual, expected, strict=True):
            assert_same_results(a, e)
    else:
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected), strict=True)
