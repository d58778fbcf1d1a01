"""Shared programs: sessions of equal models share one, and a changed model has another."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.lower.registry import LOWERINGS, lowering_of
from sardonyx._src.compile.partition.regions.registry import MATCHERS, PATTERNS, is_supported
from sardonyx._src.compile.program import Buffer
from sardonyx._src.compile.program import TensorView as Operand
from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.ir import Array, Model, Node, Tensor, TensorType
from sardonyx._src.ops.api import OPERATORS, Operator
from sardonyx._src.ops.registry import find, operators
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.engine.shared_programs import SHARED_PROGRAMS
from sardonyx._src.runtime.identity.content_hash import digest_model
from sardonyx._src.runtime.identity.model_stamps import ProgramKey

F = np.float32
PRODUCT = """g (float[N,64] x) => (float[N,64] y) <float[64,64] w, float[64] b>
    { a = MatMul(x, w)  s = Add(a, b)  y = LeakyRelu <alpha = 0.5> (s) }"""
CALLED = """g (float[2] x) => (float[2] y) { a = own.Twice(x)  y = Neg(a) }
    <domain: "own", opset_import: ["": 21]> Twice (u) => (v) { v = Add(u, u) }"""
FALLBACK = "g (int64[2] x) => (int64[2] y) <int64[2] w = {1, 2}> { y = BitwiseAnd(x, w) }"


def product(seed: int = 0) -> Model:
    model = parse_model(
        PRODUCT.replace("<float[64,64] w, float[64] b>", "<float[1,1] w = {1}, float[1] b = {1}>")
    )
    draw = np.random.default_rng(seed)
    for name, shape in (("w", (64, 64)), ("b", (64,))):
        value = model.graph.initializers[name]
        value.initializer = Tensor.of(draw.standard_normal(shape, F), name=name)
        value.type = TensorType(value.initializer.dtype, shape)
    return model


def weight_array(model: Model, name: str) -> Array:
    """The writable elements of an initializer."""
    literal = model.graph.initializers[name].initializer
    assert isinstance(literal, Tensor)
    elements: Array = literal.storage.values  # type: ignore[attr-defined]
    return elements


def make_session(of: Model | bytes | Path, threads: int = 1) -> sx.Session:
    return sx.Session(of, engine="native", threads=threads)


def shared_program(of: sx.Session) -> Program:
    assert isinstance(of._runner, NativeEngine)
    return of._runner.native.program


def run_product(of: sx.Session) -> Array:
    y = of.run({"x": np.linspace(-1, 1, 128, dtype=F).reshape(2, 64)})["y"]
    assert isinstance(y, np.ndarray)
    return y


def is_right(of: sx.Session) -> bool:
    """Whether a session's results are those of the reference engine for the model's present state."""
    expected = run_product(sx.Session(of.model, engine="reference"))
    return bool(np.allclose(run_product(of), expected, rtol=1e-4, atol=1e-4))  # sums of 64 rounded products


def test_sessions_of_one_model_share_packed_weights() -> None:
    model = product()
    first, second = make_session(model), make_session(model, threads=2)
    assert shared_program(first) is shared_program(second)
    assert constant_addresses(first) == constant_addresses(second)
    first.close()
    assert is_right(second)


def constant_addresses(of: sx.Session) -> set[int]:
    """Addresses of the constants of a session's steps."""
    args = [arg for step in shared_program(of).steps for arg in step.args if isinstance(arg, Operand)]
    return {arg.buffer.data.ctypes.data for arg in args if arg.buffer.data is not None}


def test_equal_models_share_a_program(tmp_path: Path) -> None:
    first, second = make_session(product()), make_session(product())
    assert shared_program(first) is shared_program(second)
    sx.save(product(), tmp_path / "m.onnx")
    content = (tmp_path / "m.onnx").read_bytes()
    third = make_session(content)
    assert shared_program(third) is not shared_program(first)  # its tensors have another storage
    assert shared_program(make_session(content)) is shared_program(third)


def test_the_last_session_releases_the_program() -> None:
    model = product()
    before = digest_model(model)
    make_session(model).close()
    gc.collect()
    assert digest_model(model) == before
    assert before is not None and ProgramKey(before) not in SHARED_PROGRAMS


def change_attribute(model: Model) -> None:
    node = last_node(model)
    node.attributes["alpha"] = type(node.attributes["alpha"])("alpha", node.attributes["alpha"].type, 0.25)


def change_operator(model: Model) -> None:
    node = last_node(model)
    node.op_type = "Elu"


def change_weight(model: Model) -> None:
    weight_array(model, "w")[3, 5] += 1


def change_bias(model: Model) -> None:
    weight_array(model, "b")[:] *= -1


def replace_weight(model: Model) -> None:
    model.graph.initializers["w"].initializer = Tensor.of(np.eye(64, dtype=F), name="w")


def change_storage(model: Model) -> None:
    literal = model.graph.initializers["w"].initializer
    assert isinstance(literal, Tensor)
    literal.storage = Tensor.of(np.eye(64, dtype=F)).storage


def skip_a_node(model: Model) -> None:
    """The last node reads another value, of the same name."""
    node = last_node(model)
    before = node.inputs[0]
    assert before is not None and before.producer is not None
    product = before.producer.inputs[0]
    assert product is not None
    product.name = before.name
    node.set_input(0, product)


def last_node(model: Model) -> Node:
    node = model.graph.outputs[0].producer
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
def test_a_changed_model_is_recompiled(change: Callable[[Model], None]) -> None:
    model = product()
    first = make_session(model)
    before = run_product(first)
    change(model)
    second = make_session(model)
    assert shared_program(second) is not shared_program(first)
    assert is_right(second) and not np.allclose(before, run_product(second))


@pytest.mark.parametrize("change", [change_weight, change_bias])
def test_a_changed_weight_does_not_affect_models_with_the_original(
    change: Callable[[Model], None],
) -> None:
    model = product()
    first = make_session(model)
    change(model)
    other = make_session(product())
    assert is_right(other)
    del first


def test_a_reverted_change_is_correct() -> None:
    model = product()
    first = make_session(model)
    weight_array(model, "b")[:] *= -1
    second = make_session(model)
    weight_array(model, "b")[:] *= -1
    third = make_session(model)
    assert is_right(third) and is_right(first)
    del second


def test_constants_of_fallback_nodes_are_hashed() -> None:
    first_model, second_model = parse_model(FALLBACK), parse_model(FALLBACK)
    for model in (first_model, second_model):
        model.graph.initializers["w"].initializer = Tensor.of(np.array([1, 2]), name="w")
    fed = {"x": np.array([7, 7])}
    first = make_session(first_model)
    weight_array(first_model, "w")[:] = 4
    second = make_session(second_model)
    assert np.array_equal(second.run(fed)["y"], [1, 2])
    third = make_session(first_model)
    assert np.array_equal(third.run(fed)["y"], [4, 4])
    del first


def test_a_model_with_a_changed_function_is_recompiled() -> None:
    model = parse_model(CALLED, more='"own": 1')
    first = make_session(model)
    (function,) = model.functions.values()
    function.body.outputs[0].producer.op_type = "Mul"  # type: ignore[union-attr]
    second = make_session(model)
    fed = {"x": np.array([3, 5], F)}
    assert [first.run(fed)["y"].tolist(), second.run(fed)["y"].tolist()] == [[-6, -10], [-9, -25]]


def test_other_sizes_of_inputs_are_another_model() -> None:
    model = product()
    before = digest_model(model)
    model.graph.inputs[0].type = TensorType(sx.DataType.FLOAT, (2, 64))
    assert digest_model(model) != before


def test_changed_external_data_are_another_model(tmp_path: Path) -> None:
    contents: list[object] = []
    for seed in (1, 1, 2):
        folder = tmp_path / str(len(contents))
        folder.mkdir()
        sx.save(product(seed), folder / "m.onnx", external=True)
        contents.append(digest_model(sx.load(folder / "m.onnx")))
    assert contents[0] == contents[1] != contents[2]


def test_unreadable_data_have_no_digest(tmp_path: Path) -> None:
    sx.save(product(), tmp_path / "m.onnx", external=True)
    (tmp_path / "m.onnx.data").unlink()
    assert digest_model(sx.load(tmp_path / "m.onnx")) is None


@pytest.fixture
def registered() -> Iterator[list[str]]:
    """Names of operators that a test registers; they are unregistered at the end."""
    names: list[str] = []
    yield names
    for name in names:
        del OPERATORS["own", name]


def test_a_registered_operator_changes_every_digest(registered: list[str]) -> None:
    model = product()
    before = digest_model(model)
    assert digest_model(model) == before
    own = Operator("Own", domain="own")
    registered.append("Own")
    after = digest_model(model)
    own.eval(1)(lambda x: x)
    assert len({before, after, digest_model(model)}) == 3


def test_replaced_kernels_and_matchers_change_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    model = product()
    neg, absolute = find("", "Neg"), find("", "Abs")
    assert neg is not None and absolute is not None and is_supported("", "MatMul", 13)
    digests = [digest_model(model)]
    monkeypatch.setitem(MATCHERS, ("", "MatMul", 13), lambda op, scope: None)
    digests.append(digest_model(model))
    monkeypatch.setitem(neg.kernels, 13, absolute.kernels[13])
    digests.append(digest_model(model))
    assert len(set(digests)) == 3


def test_patterns_and_lowerings_of_the_caller_change_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    model = product()
    assert is_supported("", "MatMul", 13)
    digests = [digest_model(model)]
    patterns = [lambda op, scope: None, *PATTERNS[("", "MatMul", 13)]]
    monkeypatch.setitem(PATTERNS, ("", "MatMul", 13), patterns)
    digests.append(digest_model(model))
    lowering_of("MatMul")
    assert digest_model(model) == digests[-1]
    monkeypatch.setitem(LOWERINGS, "MatMul", lambda region, lowering: ())
    digests.append(digest_model(model))
    assert len(set(digests)) == 3


def test_operator_lookups_do_not_change_the_digest() -> None:
    model = product()
    before = digest_model(model)
    for op in operators():
        assert find(op.domain, op.name) is op
        is_supported(op.domain, op.name, 1)
    assert digest_model(model) == before


def test_a_lazy_constant_read_by_several_threads_is_computed_once() -> None:
    def fill(rows: Array, first: int) -> None:
        time.sleep(0.01)
        rows[:] = 1

    storage = Buffer("constant", 64, "w", LazyConstant((4, 4), 1, np.zeros(16, F), fill))
    with ThreadPoolExecutor(4) as threads:
        arrays = list(threads.map(lambda _: storage.data, range(4)))
    assert len({id(array) for array in arrays}) == 1
