"""Objects that are no feeds are InputErrors, whatever their methods raise."""

import re

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.text import from_text as parse_text
from sardonyx.errors import InputError


class Unconvertible:
    def __array__(self, *_: object, **__: object) -> object:
        raise ZeroDivisionError("no")

    def __repr__(self) -> str:
        raise ZeroDivisionError("no")


def nested(depth: int) -> object:
    value: object = 1.0
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("dtype", ["float", "string", "int64"])
@pytest.mark.parametrize(
    "value", [Unconvertible(), [Unconvertible(), 1], nested(5000)], ids=["one", "list", "deep"]
)
def test_a_foreign_object_is_an_input_error(engine: str, dtype: str, value: object) -> None:
    model = parse_model(f"g ({dtype}[2] x) => ({dtype}[2] y) {{ y = Identity(x) }}")
    with pytest.raises(InputError):
        sx.Session(model, engine=engine).run({"x": value})  # type: ignore[arg-type]


def test_text_of_an_empty_tensor_with_a_huge_dim() -> None:
    weight = m.TensorProto(dims=[0, 1 << 62], data_type=1, name="w", raw_data=b"")
    graph = m.GraphProto(name="g", initializer=[weight])
    imports = [m.OperatorSetIdProto(domain="", version=21)]
    text = sx.to_text(sx.load(m.ModelProto(ir_version=10, graph=graph, opset_import=imports)))
    assert re.search(rf"float\[0, ?{1 << 62}\] w", text)
    parsed = parse_text(text, m.ModelProto).graph
    assert parsed is not None and [t.dims for t in parsed.initializer] == [[0, 1 << 62]]


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_masked_elements_are_refused_with_a_cure(engine: str) -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    session = sx.Session(model, engine=engine)  # type: ignore[arg-type]
    x = np.ma.MaskedArray(np.ones(2, np.float32), mask=[False, True])
    for _ in range(2):
        with pytest.raises(InputError, match=r"no masked elements: pass x\.filled"):
            session.run({"x": x})
        session.run({"x": x.filled(0)})
    whole = np.ma.MaskedArray(np.ones(2, np.float32))
    np.testing.assert_array_equal(np.asarray(session.run({"x": whole})["y"]), -np.ones(2))
