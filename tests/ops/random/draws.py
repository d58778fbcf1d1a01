"""Running a node that draws random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cases import Case, check, model_of
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.tensors import Array


def drawn(
    op: str, version: int, inputs: Sequence[Array], attributes: Mapping[str, object], session_seed: int = 1
) -> Array:
    """What the node gives in a session with that seed; its inferred type is checked against it."""
    case = Case(op, version, inputs, [...], attributes)
    check(case)
    feeds = {f"x{i}": x for i, x in enumerate(inputs)}
    (result,) = Interpreter(model_of(case), seed=session_seed).run(feeds).values()
    assert isinstance(result, np.ndarray)
    return result


def assert_repeatable(
    op: str, version: int, inputs: Sequence[Array], attributes: Mapping[str, object]
) -> None:
    """Asserts that the node's own `seed` decides, and without it the session's."""

    def seeded(session_seed: int, **seed: float) -> Array:
        return drawn(op, version, inputs, {**attributes, **seed}, session_seed)

    assert np.array_equal(seeded(1, seed=5.0), seeded(2, seed=5.0))
    assert not np.array_equal(seeded(1, seed=5.0), seeded(1, seed=5.5))
    assert np.array_equal(seeded(1), seeded(1))
    assert not np.array_equal(seeded(1), seeded(2))
