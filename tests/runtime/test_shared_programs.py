"""Sessions of models that hold the same share a program, and none runs what its model does not say."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import model
from sardonyx._src.compile.pending import Pending
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.registry import FACETS, facet_of
from sardonyx._src.compile.tensor import Storage
from sardonyx._src.compile.tensor import Tensor as Operand
from sardonyx._src.ir.graph import Model, Node
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import OPERATORS, Operator
from sardonyx._src.ops.registry import find, operators
from sardonyx._src.runtime.content import content_of
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.unchanged import COMPILED

F = np.float32
PRODUCT = """g (float[N,64] x) => (float[N,64] y) <float[64,64] w, float[64] b>
    { a = MatMul(x, w)  s = Add(a, b)  y = LeakyRelu <alpha = 0.5> (s) }"""
CALLED = """g (float[2] x) => (float[2] y) { a = own.Twice(x)  y = Neg(a) }
    <domain: "own", opset_import: ["": 21]> Twice (u) => (v) { v = Add(u, u) }"""
ON_HOST = "g (int64[2] x) => (int64[2] y) <int64[2] w = {1, 2}> { y = BitwiseAnd(x, w) }"


def product(seed: int = 0) -> Model:
    made = model(PRODUCT.replace("<float[64,64] w, float[64] b>", "<float[1,1] w = {1}, float[1] b = {1}>"))
    draw = np.random.default_rng(seed)
    for name, shape in (("w", (64, 64)), ("b", (64,))):
        value = made.graph.initializers[name]
        value.initializer = Tensor.of(draw.standard_normal(shape, F), name=name)
        value.type = TensorType(value.initializer.dtype, shape)
    return made


def array(made: Model, name: str) -> Array:
    """The elements of an initializer, where a caller can write to them."""
    literal = made.graph.initializers[name].initializer
    assert isinstance(literal, Tensor)
    found: Array = literal.storage.values  # type: ignore[attr-defined]
    return found


def session(of: Model | bytes | Path, threads: int = 1) -> sx.Session:
    return sx.Session(of, engine="native", threads=threads)


def program(of: sx.Session) -> Program:
    assert isinstance(of._runner, NativeEngine)
    return of._runner.native.program


def results(of: sx.Session) -> Array:
    found = of.run({"x": np.linspace(-1, 1, 128, dtype=F).reshape(2, 64)})["y"]
    assert isinstance(found, np.ndarray)
    return found


def is_right(of: sx.Session) -> bool:
    """Whether a session computes what the reference engine makes of its model as it is now."""
    wanted = results(sx.Session(of.model, engine="reference"))
    return bool(np.allclose(results(of), wanted, rtol=1e-4, atol=1e-4))  # sums of 64 rounded products


def test_sessions_of_one_model_share_packed_weights() -> None:
    made = product()
    first, second = session(made), session(made, threads=2)
    assert program(first) is program(second)
    assert addresses(first) == addresses(second)
    first.close()
    assert is_right(second)


def addresses(of: sx.Session) -> set[int]:
    """Where the constants of a session's steps are."""
    args = [arg for step in program(of).steps for arg in step.args if isinstance(arg, Operand)]
    return {arg.storage.data.ctypes.data for arg in args if arg.storage.data is not None}


def test_models_that_hold_the_same_share_a_program(tmp_path: Path) -> None:
    first, second = session(product()), session(product())
    assert program(first) is program(second)
    sx.save(product(), tmp_path / "m.onnx")
    content = (tmp_path / "m.onnx").read_bytes()
    assert program(session(content)) is not program(first)  # its tensors are stored in another way
    one = session(content)
    assert program(session(content)) is program(one)


def test_the_last_session_takes_the_program_with_it() -> None:
    made = product()
    before = content_of(made)
    session(made).close()
    gc.collect()
    assert content_of(made) == before
    assert before not in COMPILED


def change_attribute(made: Model) -> None:
    node = last(made)
    node.attributes["alpha"] = type(node.attributes["alpha"])("alpha", node.attributes["alpha"].type, 0.25)


def change_operator(made: Model) -> None:
    node = last(made)
    node.op_type = "Elu"


def change_weight(made: Model) -> None:
    array(made, "w")[3, 5] += 1


def change_bias(made: Model) -> None:
    array(made, "b")[:] *= -1


def replace_weight(made: Model) -> None:
    made.graph.initializers["w"].initializer = Tensor.of(np.eye(64, dtype=F), name="w")


def change_storage(made: Model) -> None:
    literal = made.graph.initializers["w"].initializer
    assert isinstance(literal, Tensor)
    literal.storage = Tensor.of(np.eye(64, dtype=F)).storage


def skip_a_node(made: Model) -> None:
    """The last node reads another value, of the same name."""
    node = last(made)
    before = node.inputs[0]
    assert before is not None and before.producer is not None
    product = before.producer.inputs[0]
    assert product is not None
    product.name = before.name
    node.set_input(0, product)


def last(made: Model) -> Node:
    node = made.graph.outputs[0].producer
    assert node is not None
    return node


CHANGES = [
    change_attribute,
    change_operator,
    change_weight,
    change_bias,
    replace_weight,
    change_storage,
    skip_a_node,
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_model_that_was_changed_is_compiled_anew(change: Callable[[Model], None]) -> None:
    made = product()
    first = session(made)
    before = results(first)
    change(made)
    second = session(made)
    assert program(second) is not program(first)
    assert is_right(second) and not np.allclose(before, results(second))


@pytest.mark.parametrize("change", [change_weight, change_bias])
def test_a_weight_that_was_written_to_does_not_reach_models_that_hold_the_former(
    change: Callable[[Model], None],
) -> None:
    made = product()
    first = session(made)
    change(made)
    other = session(product())
    assert is_right(other)
    del first


def test_a_change_that_is_taken_back_is_right_again() -> None:
    made = product()
    first = session(made)
    array(made, "b")[:] *= -1
    second = session(made)
    array(made, "b")[:] *= -1
    third = session(made)
    assert is_right(third) and is_right(first)
    del second


def test_constants_of_nodes_that_the_host_runs_are_looked_at() -> None:
    one, other = model(ON_HOST), model(ON_HOST)
    for each in (one, other):
        each.graph.initializers["w"].initializer = Tensor.of(np.array([1, 2]), name="w")
    fed = {"x": np.array([7, 7])}
    first = session(one)
    array(one, "w")[:] = 4
    second = session(other)
    assert np.array_equal(second.run(fed)["y"], [1, 2])  # type: ignore[arg-type]
    third = session(one)
    assert np.array_equal(third.run(fed)["y"], [4, 4])  # type: ignore[arg-type]
    del first


def test_a_body_of_a_function_that_was_changed_is_compiled_anew() -> None:
    made = model(CALLED, more='"own": 1')
    first = session(made)
    (function,) = made.functions.values()
    function.body.outputs[0].producer.op_type = "Mul"  # type: ignore[union-attr]
    second = session(made)
    fed = {"x": np.array([3, 5], F)}
    assert [first.run(fed)["y"].tolist(), second.run(fed)["y"].tolist()] == [[-6, -10], [-9, -25]]  # type: ignore[union-attr]


def test_other_sizes_of_inputs_are_another_model() -> None:
    made = product()
    before = content_of(made)
    made.graph.inputs[0].type = TensorType(sx.DataType.FLOAT, (2, 64))
    assert content_of(made) != before


def test_external_data_that_have_changed_are_another_model(tmp_path: Path) -> None:
    contents: list[object] = []
    for seed in (1, 1, 2):
        folder = tmp_path / str(len(contents))
        folder.mkdir()
        sx.save(product(seed), folder / "m.onnx", external=True)
        contents.append(content_of(sx.load(folder / "m.onnx")))
    assert contents[0] == contents[1] != contents[2]


def test_data_that_cannot_be_read_stand_for_nothing(tmp_path: Path) -> None:
    sx.save(product(), tmp_path / "m.onnx", external=True)
    (tmp_path / "m.onnx.data").unlink()
    assert content_of(sx.load(tmp_path / "m.onnx")) is None


@pytest.fixture
def registered() -> Iterator[list[str]]:
    """Names under which operators are registered, which are taken away at the end."""
    names: list[str] = []
    yield names
    for name in names:
        del OPERATORS["own", name]


def test_operators_that_are_registered_may_change_every_model(registered: list[str]) -> None:
    made = product()
    before = content_of(made)
    assert content_of(made) == before
    own = Operator("Own", domain="own")
    registered.append("Own")
    after = content_of(made)
    own.eval(1)(lambda x: x)
    assert len({before, after, content_of(made)}) == 3


def test_kernels_and_lowerings_that_are_replaced_count(monkeypatch: pytest.MonkeyPatch) -> None:
    made = product()
    neg, absolute = find("", "Neg"), find("", "Abs")
    assert neg is not None and absolute is not None and facet_of("", "MatMul", 13) is not None
    found = [content_of(made)]
    monkeypatch.setitem(FACETS, ("", "MatMul", 13), lambda call, at: False)
    found.append(content_of(made))
    monkeypatch.setitem(neg.kernels, 13, absolute.kernels[13])
    found.append(content_of(made))
    assert len(set(found)) == 3


def test_operators_that_are_asked_for_later_change_nothing() -> None:
    made = product()
    before = content_of(made)
    for op in operators():
        assert find(op.domain, op.name) is op
        facet_of(op.domain, op.name, 1)
    assert content_of(made) == before


def test_a_constant_that_several_threads_ask_for_is_made_once() -> None:
    def make(rows: Array, first: int) -> None:
        time.sleep(0.01)
        rows[:] = 1

    storage = Storage("constant", 64, "w", Pending((4, 4), 1, np.zeros(16, F), make))
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: storage.data, range(4)))
    assert len({id(one) for one in found}) == 1
