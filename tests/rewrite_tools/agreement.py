"""Two models run on the same seeded inputs, and their results held against each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.random_feeds import random_feeds
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.ops.api import RuntimeValue

MODELS = Path(__file__).resolve().parents[3] / "shared" / "models"


def shared(name: str) -> Model:
    """A real model, where the models stand beside the project."""
    path = MODELS / name / "model.onnx"
    if not path.exists():
        pytest.skip("the models do not stand beside the project")
    return sx.load(path)


def feeds_of(model: Model, sizes: Mapping[str, int] | None = None, seed: int = 0) -> dict[str, object]:
    return random_feeds(sx.Session(model).inputs, {}, seed, sizes or {})


def reference_feeds(name: str) -> dict[str, object]:
    """The inputs that a real model was published with."""
    found = np.load(MODELS / name / "ref.npz")
    return {key.removeprefix("in:"): value for key, value in found.items() if key.startswith("in:")}


def only_result(model: Model, feeds: Mapping[str, object]) -> object:
    """The one output, as a list."""
    (found,) = results(model, feeds)
    return np.asarray(found).tolist()


def results(model: Model, feeds: Mapping[str, object]) -> list[RuntimeValue]:
    """The outputs in order, of a model whose edges are right."""
    verify(model)
    return list(sx.Session(model, engine="reference").run(feeds).values())


def same(actual: object, expected: object) -> None:
    """Asserts that results are equal to the bit."""
    if isinstance(expected, list):
        assert isinstance(actual, list)
        for a, e in zip(actual, expected, strict=True):
            same(a, e)
    else:
        np.testing.assert_array_equal(np.asarray(actual), np.asarray(expected), strict=True)
