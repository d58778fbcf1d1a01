"""CastLike beside the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.lowered import normal, runs


@pytest.mark.parametrize("kind", ["float", "double", "int32", "bool"])
@pytest.mark.parametrize("own", ["float", "int64", "bool"])
def test_elements_become_those_of_another_tensor(own: str, kind: str) -> None:
    text = f"g ({own}[a,b] x, {kind}[c] t) => ({kind}[] y) {{ y = CastLike(x, t) }}"
    dtypes = {
        "float": np.float32,
        "double": np.float64,
        "int32": np.int32,
        "int64": np.int64,
        "bool": np.bool_,
    }
    for a in (3, 0):
        runs(text, {"x": (9 * normal(a, 5)).astype(dtypes[own]), "t": np.zeros(2, dtypes[kind])})
