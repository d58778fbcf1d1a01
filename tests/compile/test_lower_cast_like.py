"""CastLike: native programs match the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal


@pytest.mark.parametrize("target_type", ["float", "double", "int32", "bool"])
@pytest.mark.parametrize("source_type", ["float", "int64", "bool"])
def test_cast_like_converts_between_types(source_type: str, target_type: str) -> None:
    text = f"g ({source_type}[a,b] x, {target_type}[c] t) => ({target_type}[] y) {{ y = CastLike(x, t) }}"
    dtypes = {
        "float": np.float32,
        "double": np.float64,
        "int32": np.int32,
        "int64": np.int64,
        "bool": np.bool_,
    }
    for a in (3, 0):
        assert_matches_reference(
            text, {"x": (9 * normal(a, 5)).astype(dtypes[source_type]), "t": np.zeros(2, dtypes[target_type])}
        )
