"""Models that cannot be run are refused with the error of the reference engine, whichever of several equal calls is wrong."""

from __future__ import annotations

import pytest

from models import parse_model
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.runnable import call_key, require_runnable
from sardonyx._src.ir import Model, Node

REFUSED = {
    "an input is missing after an equal operator": "a = Clip(x, x)  y = Clip(, x)",
    "a second node has too many inputs": "a = Neg(x)  y = Neg(a, x)",
    "a second node has too many outputs": "a = Neg(x)  y, b = Neg(a)",
    "a second node has a wrong attribute": "a = Softmax <axis = 0> (x)  y = Softmax <axes = 0> (a)",
    "a second node has an attribute of another type": "a = Softmax <axis = 0> (x)  y = Softmax <axis = 0.0> (a)",
    "a second node has an invalid attribute": """
        a = Gelu <approximate = "tanh"> (x)  y = Gelu <approximate = "sinh"> (a)
    """,
    "a required attribute is missing": "a = Cast <to = 1> (x)  y = Cast (a)",
    "an operator is unknown": "a = Neg(x)  y = Mystery(a)",
    "a node in a branch": "c = Cast <to = 9> (x)  y = If (c) <then_branch = t () => (o) { o = Neg(x, x) }, else_branch = e () => (o) { o = Neg(x) }>",
}


def model_of(nodes: str) -> Model:
    return parse_model(f"g (float x) => (y) {{ {nodes} }}", opset=21)


@pytest.mark.parametrize("nodes", REFUSED.values(), ids=REFUSED)
def test_the_error_is_that_of_the_reference_engine(nodes: str) -> None:
    with pytest.raises(SardonyxError) as expected:
        Interpreter(model_of(nodes))
    with pytest.raises(SardonyxError) as error:
        require_runnable(model_of(nodes))
    assert (type(error.value), str(error.value)) == (type(expected.value), str(expected.value))


def test_models_that_run_are_accepted() -> None:
    model = model_of("a = Clip(x, x)  b = Clip(a, , x)  k = Constant <value = float {1.0}> ()  y = Add(b, k)")
    Interpreter(model)
    require_runnable(model)


def keys(nodes: str) -> list[object]:
    return [*map(call_key, model_of(nodes).graph.nodes)]


DIFFERENT = {
    "operator": "a = Neg(x)  y = Abs(a)",
    "given inputs": "a = Clip(x, x)  y = Clip(x, , x)",
    "outputs": "a, b = Split <num_outputs = 2> (x)  y = Split <num_outputs = 2> (x)",
    "value of an attribute": "a = Softmax <axis = 0> (x)  y = Softmax <axis = -1> (x)",
    "type of an attribute": "a = Constant <value_int = 1> ()  y = Constant <value_float = 1.0> ()",
}


@pytest.mark.parametrize("nodes", DIFFERENT.values(), ids=DIFFERENT)
def test_different_calls_have_different_keys(nodes: str) -> None:
    first, second = keys(nodes)
    assert first is not None
    assert first != second


def test_equal_calls_have_equal_keys() -> None:
    first, second = keys("a = Softmax <axis = 0> (x)  y = Softmax <axis = 0> (a)")
    assert first == second is not None


def test_nodes_with_tensors_have_no_key() -> None:
    assert keys("y = Constant <value = float {1.0}> ()") == [None]
    assert call_key(Node("Neg", attributes={})) is not None
