"""Declared shapes of the outputs of unknown operators: files declare stale ones, and conversion computes nothing from them."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import parse_model

NODES = {
    "softmax": "t = com.example.F(x)  y = Softmax <axis = 1> (t)",
    "hardmax": "t = com.example.F(x)  y = Hardmax <axis = 1> (t)",
}


def converted(declaration: str, nodes: str) -> list[tuple[str, dict[str, object]]]:
    """Operators and attributes of the model in version 13, or "refused"."""
    text = f"g (float[2,3] x) => (float y_) <{declaration}> {{ {nodes}  y_ = ReduceSum <keepdims = 0> (y) }}"
    try:
        model = sx.convert(parse_model(text, opset=11, more='"com.example": 1'), 13)
    except sx.ConversionError as error:
        return [("refused", {"why": error.why})]
    return [(n.op_type, {a.name: a.value for a in n.attributes.values()}) for n in model.graph.nodes]


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
def test_a_declared_rank_changes_no_conversion(nodes: str) -> None:
    results = [converted(declared, nodes) for declared in ("float t", "float[2,3] t", "float[2,3,4] t")]
    operators = [[operator for operator, _ in result] for result in results]
    assert operators[0] == operators[1] == operators[2]


def test_declared_types_of_unknown_operators_are_kept() -> None:
    text = "g (float[2,3] x) => (float[N] y) <float[2,3] t> { t = com.example.F(x)  y = com.example.G(t) }"
    model = sx.convert(parse_model(text, opset=11, more='"com.example": 1'), 13)
    (t,) = next(iter(model.graph.nodes)).outputs
    assert str(t.type) == "float[2,3]"
    assert str(model.graph.outputs[0].type) == "float[N]"
