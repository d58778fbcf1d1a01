"""Why nodes are fallback operations: the reason names the types, and what kernels do not do with them."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.printing.fallbacks import fallback_reason

NODES = {
    "g (int64[3] x, float[3] y) => (int64[3] z) { z = Pow(x, y) }": "int64[3], float[3], int64[3]: an integer to the power",
    "g (float[1,8,2] x) => (float[1,8,2] z) { z = DFT <inverse = 1> (x) }": "a whole inverse in float32",
    'g (int32[2,2] x) => (int32[2] z) { z = Einsum <equation = "ij->i"> (x) }': "sums of integers wrap around",
    "g (float[3] x) => (float[3] z) { z = RandomNormalLike(x) }": "without a seed, numbers are drawn",
    "g (string[3] x) => (string[3] z) { z = StringConcat(x, x) }": "no native StringConcat-20",
}


@pytest.mark.parametrize("text", NODES)
def test_a_reason_tells_the_limits_of_kernels(text: str) -> None:
    model = parse_model(text, opset=22)
    assert sx.Session(model, engine="native").stats.fallback_nodes == 1
    (node,) = model.graph.nodes
    assert NODES[text] in fallback_reason(node, model)
