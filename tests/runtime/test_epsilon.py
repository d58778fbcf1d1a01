"""Epsilons that no text excludes (negative, zero, infinite, NaN): IEEE arithmetic, the same in both engines."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sardonyx as sx
from operator_cases import Key, cases_by_version, changed_model, feeds_of
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Array, Attribute
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.runtime.session.session import Engine

EPSILONS = (-1.0, 0.0, math.inf, -math.inf, math.nan)
KEYS = [
    key
    for key, cases in cases_by_version().items()
    if "epsilon" in cases[0][0].attributes and not cases[0][0].deprecated
]


def results(key: Key, epsilon: float, engine: Engine) -> list[Array]:
    """The outputs of the first case of an operator version with another epsilon."""
    _, case = cases_by_version()[key][0]
    model = changed_model(case, Attribute("epsilon", AttributeType.FLOAT, epsilon))
    assert not [d for d in sx.check(to_proto.model(model)).of("error") if "epsilon" in d.message]
    return [np.asarray(y) for y in sx.Session(model, engine=engine).run(feeds_of(case)).values()]


@pytest.mark.parametrize("key", KEYS, ids=lambda key: f"{key[1]}-{key[2]}")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_any_epsilon_is_computed_with_alike(key: Key) -> None:
    for epsilon in EPSILONS:
        for actual, expected in zip(
            results(key, epsilon, "native"), results(key, epsilon, "reference"), strict=True
        ):
            np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5, err_msg=f"epsilon {epsilon}")
