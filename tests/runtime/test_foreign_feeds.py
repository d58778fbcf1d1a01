"""Objects that are no feeds are InputErrors, whatever their methods raise."""

import re

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
