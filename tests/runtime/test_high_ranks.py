"""Tensors of more dims than NumPy's arrays have: refused by both engines with the same class of error, never untyped."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.runtime.session.session import ENGINES

RANK = 71
SHAPE = ", ".join(["1"] * RANK)
NODES = {
    "reshape": f"s = Constant <value_ints = [{SHAPE}]> ()  r = Reshape(x, s)  y = Neg(r)",
    "expand": f"s = Constant <value_ints = [{SHAPE}]> ()  r = Expand(x, s)  y = Relu(r)",
    "unsqueeze": f"a = Constant <value_ints = [{', '.join(map(str, range(1, RANK)))}]> ()  y = Unsqueeze(x, a)",
    "fill": f"s = Constant <value_ints = [{SHAPE}]> ()  r = ConstantOfShape(s)  y = Add(r, x)",
}


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
def test_a_rank_beyond_numpys_is_refused_alike(nodes: str) -> None:
    classes = set()
    for engine in ENGINES:
        model = parse_model(f"g (float[1] x) => (y) {{ {nodes} }}")
        with pytest.raises(sx.SardonyxError) as caught:
            sx.Session(model, engine=engine).run({"x": np.ones(1, np.float32)})
        classes.add(type(caught.value))
    assert len(classes) == 1, classes


def test_a_declared_rank_beyond_numpys_is_no_obstacle_to_tools() -> None:
    model = parse_model(f"g (float[{SHAPE}] x) => (float[{SHAPE}] y) {{ y = Relu(x) }}")
    assert sx.check(model).ok
    assert str(sx.infer(sx.convert(model, 22)).graph.outputs[0].type) == str(model.graph.inputs[0].type)
    assert sx.optimize(model).graph.outputs[0].name == "y"
