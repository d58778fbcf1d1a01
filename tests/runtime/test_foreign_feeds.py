"""Objects that are no feeds are InputErrors, whatever their methods raise."""

import io
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import NoReturn

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.text import from_text as parse_text
from sardonyx._src.runtime.session.session import Engine
from sardonyx.errors import InputError


class Unconvertible:
    def __array__(self, *_: object, **__: object) -> object:
        raise ZeroDivisionError("no")

    def __repr__(self) -> str:
        raise ZeroDivisionError("no")


class Opaque:
    """An object of which every attribute raises."""

    def __getattribute__(self, name: str) -> object:
        raise ZeroDivisionError(name)


class Capsule:
    """DLPack that raises, at one of its two methods."""

    def __init__(self, *, device: bool) -> None:
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.device:
            raise ZeroDivisionError("no device")
        return (1, 0)

    def __dlpack__(self, **_: object) -> object:
        raise ZeroDivisionError("no data")


class Liar:
    """An object whose __array__ returns no array."""

    def __array__(self, *_: object, **__: object) -> object:
        return [1, 2]


class BrokenList(list[object]):
    def __iter__(self) -> Iterator[object]:
        raise ZeroDivisionError("no elements")


class BrokenArray(np.ndarray):
    """An array that refuses what NumPy's functions ask of it."""

    def __array_function__(self, *_: object, **__: object) -> object:
        raise ZeroDivisionError("no function")


class BrokenDict(dict[str, object]):
    def __iter__(self) -> Iterator[str]:
        raise ZeroDivisionError("no keys")

    def items(self) -> NoReturn:
        raise ZeroDivisionError("no items")


FOREIGN: dict[str, Callable[[], object]] = {
    "opaque": Opaque,
    "dlpack": lambda: Capsule(device=False),
    "dlpack-device": lambda: Capsule(device=True),
    "liar": Liar,
    "list": lambda: BrokenList([1.0, 2.0]),
    "generator": lambda: (i for i in (1.0, 2.0)),
    "file": lambda: io.BytesIO(b"12345678"),
    "module": lambda: np,
    "records": lambda: np.zeros(2, [("a", "f4")]),
}


@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("type", ["float[2]", "seq(float[2])", "optional(float[2])"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_object_that_cannot_be_read_is_an_input_error(engine: Engine, type: str, kind: str) -> None:
    model = parse_model(f"g ({type} x) => ({type} y) {{ y = Identity(x) }}")
    session = sx.Session(model, engine=engine)
    for feed in (FOREIGN[kind](), [FOREIGN[kind]()]):
        with pytest.raises(InputError):
            session.run({"x": feed})


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_feeds_that_cannot_be_read_are_an_input_error(engine: Engine) -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    session = sx.Session(model, engine=engine)
    session.run({"x": np.ones(2, np.float32)})
    with pytest.raises(InputError):
        session.run(BrokenDict(x=np.ones(2, np.float32)))


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_subclass_of_arrays_is_an_array(engine: Engine) -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    session = sx.Session(model, engine=engine)
    for _ in range(2):
        y = session.run({"x": np.ones(2, np.float32).view(BrokenArray)})["y"]
        np.testing.assert_array_equal(np.asarray(y), [-1, -1])


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


def test_runs_while_another_thread_imports_numpy_ma(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is in sys.modules from the beginning of its import, its class only at the end."""
    monkeypatch.setitem(sys.modules, "numpy.ma", ModuleType("numpy.ma"))
    session = sx.Session(parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }"))
    np.testing.assert_array_equal(session.run({"x": np.ones(2, np.float32)})["y"], -np.ones(2))
