"""Pairs of sizes that operators require to be equal, as inference records them."""

from __future__ import annotations

import pytest

from models import parse_model
from sardonyx._src.infer.incremental import IncrementalInference

PAIRS = {
    "the inner dim of a product": ("float[n,k] x, float[j,m] z", "y = MatMul(x, z)", ["k = j"]),
    "rows and columns of C": (
        "float[m,4] x, float[4,n] z, float[2,3] c",
        "y = Gemm(x, z, c)",
        ["2 = m", "3 = n"],
    ),
    "C that broadcasts or not": (
        "float[m,4] x, float[4,3] z, float[c,1] c",
        "y = Gemm(x, z, c)",
        ["0 = c*c+m-c*m-c"],
    ),
    "channels of grouped weights": (
        "float[n,c,h,w] x, float[8,d,3,3] z",
        "y = Conv<group = 2>(x, z)",
        ["c = 2*d"],
    ),
    "parts off the axis": ("float[a,b] x, float[c,d] z", "y = Concat<axis = 1>(x, z)", ["a = c"]),
    "vectors of statistics": (
        "float[n,c] x, float[d] z",
        "y = BatchNormalization(x, z, z, z, z)",
        ["c = d"] * 4,
    ),
    "a scale that broadcasts": (
        "float[n,c] x, float[4] z",
        "y = LayerNormalization(x, z)",
        ["c = 4"],
    ),
    "a condition that may be shorter": (
        "float[n,c] x, bool[k] z",
        "y = Compress<axis = 0>(x, z)",
        ["k = min(k,n)"],
    ),
    "a scalar": ("float[n] x, float[k] z", "y = Clip(x, z)", ["1 = k"]),
    "explicit parts": (
        "float[n] x",
        "s = Constant<value = int64[2] {2,3}>() y, z = Split<axis = 0>(x, s)",
        ["n = 5"],
    ),
    "a stated size, where 0 copies one": (
        "float[n,m] x",
        "s = Shape<start = 1>(x) o = Constant<value = int64[1] {-1}>() t = Concat<axis = 0>(s, o) y = Reshape(x, t)",
        ["min(n,1) = min(m,1)*min(n,1)", "1 = min(m,1)"],
    ),
    "known sizes": ("float[n,4] x, float[4,m] z", "y = MatMul(x, z)", []),
}


@pytest.mark.parametrize("name", PAIRS)
def test_sizes_that_a_node_requires_to_be_equal_are_recorded(name: str) -> None:
    inputs, nodes, expected = PAIRS[name]
    for _ in range(2):  # the second time, the memo cache has the types
        model = parse_model(f"g ({inputs}) => (y) {{ {nodes} }}", opset=24)
        facts = IncrementalInference(model)
        facts.walk()
        node = model.graph.outputs[0].producer
        assert node is not None
        pairs = [f"{a} = {b}" for a, b in facts.equal_dims(node)]
        assert pairs == expected
