"""Runs of nodes that draw random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cases import Case, assert_case, model_of
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array


def draw(
    op: str, version: int, inputs: Sequence[Array], attributes: Mapping[str, object], session_seed: int = 1
) -> Array:
    """The output of the node in a session with that seed; asserts that the inferred type fits it."""
    case = Case(op, version, inputs, [...], attributes)
    assert_case(case)
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    (result,) = Interpreter(model_of(case), seed=session_seed).run(feeds).values()
    assert isinstance(result, np.ndarray)
    return result


def assert_repeatable(
    op: str, version: int, inputs: Sequence[Array], attributes: Mapping[str, object]
) -> None:
    """Asserts that the `seed` attribute of the node determines its output, or without it the session's seed."""

    def seeded(session_seed: int, **seed: float) -> Array:
        return draw(op, version, inputs, {**attributes, **seed}, session_seed)

    assert np.array_equal(seeded(1, seed=5.0), seeded(2, seed=5.0))
    assert not np.array_equal(seeded(1, seed=5.0), seeded(1, seed=5.5))
    assert np.array_equal(seeded(1), seeded(1))
    assert not np.array_equal(seeded(1), seeded(2))
