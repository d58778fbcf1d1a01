"""Constants that depend on rounding are computed by kernels, with the bits of a run; all others by reference kernels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.rewrite.support.evaluate import evaluate_fixed_bits
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.runs.native_constants import native_evaluation

ROUNDED = [
    "float[9,333] a, float[333,7] b | y = MatMul(a, b)",
    "float[9,333] a, float[9,333] b | m = Abs(a) y = Pow(m, b)",
    "float[9,333] a | y = Exp(a)",
    "float[9,333] a | y = ReduceSum(a)",
    "double[9,333] a | y = Exp(a)",
    "float[2,5,9,9] a, float[4,5,3,3] b | y = Conv(a, b)",
    "float[9,333] a | y = Softmax(a)",
    "float16[9,333] a | y = Atan(a)",
]


def constant_model(model: Model, feeds: Mapping[str, Array]) -> Model:
    """The model with its inputs as constants."""
    for value in [*model.graph.inputs]:
        assert isinstance(value.type, TensorType)
        model.graph.remove_input(value)
        value.initializer = Tensor.of(feeds[value.name], value.type.dtype, value.name)
        model.graph.add_initializer(value)
    return model


@pytest.mark.parametrize("text", ROUNDED)
def test_a_constant_has_the_bits_of_a_run(text: str) -> None:
    signature, body = text.split(" | ")
    source = f"g ({signature}) => (y) {{ {body} }}"
    draw, feeds = np.random.default_rng(2), {}
    for value in parse_model(source, opset=27).graph.inputs:
        assert isinstance(value.type, TensorType)
        shape = [n for n in value.type.shape or () if isinstance(n, int)]
        feeds[value.name] = draw.standard_normal(shape).astype(value.type.dtype.numpy)
    fed = NativeEngine(parse_model(source, opset=27), threads=1)
    constant = NativeEngine(constant_model(parse_model(source, opset=27), feeds), threads=1)
    assert fed.stats().fallback_nodes == 0
    assert [node.op_type for node in constant.native.program.model.graph.nodes] == ["Constant"]
    expected, actual = (np.asarray(results["y"]) for results in (fed.run(feeds), constant.run({})))
    assert actual.dtype == expected.dtype and actual.tobytes() == expected.tobytes()


class Recorder:
    """Records what kernels compute; the results are zeros, or there is a bailout."""

    def __init__(self, *, bails_out: bool = False) -> None:
        self.feeds: list[Mapping[str, Array]] = []
        self.graphs: list[Graph] = []
        self.bails_out = bails_out

    def __call__(self, model: Model, feeds: Mapping[str, Array]) -> Mapping[str, RuntimeValue]:
        self.feeds.append(feeds)
        self.graphs.append(model.graph)
        if self.bails_out:
            raise Bailout("a guard")
        return {value.name: np.zeros(()) for value in model.graph.outputs}


def evaluate(text: str, recorder: Recorder, *arrays: Array | None) -> tuple[Node, list[RuntimeValue] | None]:
    model = parse_model(text, opset=27)
    (node,) = model.graph.nodes
    tensors = [None if array is None else Tensor.of(array) for array in arrays]
    results = native_evaluation(recorder)(node, model.opset_imports, tensors)
    return node, None if results is None else list(results)


@pytest.mark.parametrize(
    ("text", "arrays", "expected"),
    [
        ("g (float[2] a, float[2] b) => (float[2] y) { y = Div(a, b) }", [[1, 2], [3, 8]], [1 / 3, 0.25]),
        ("g (float[2] a, float b, int8 c) => (int8[2] y) { y = QuantizeLinear(a, b, c) }", [[1, 5], 2, 1], [1, 3]),
        ("g (float a, float b, float c) => (float[n] y) { y = Range(a, b, c) }", [0, 1, 0.25], [0, 0.25, 0.5, 0.75]),
        ("g (int64[2,2] a, int64[2,2] b) => (y) { y = MatMul(a, b) }", [[[1, 2], [3, 4]]] * 2, [[7, 10], [15, 22]]),
    ],
)  # fmt: skip
def test_reference_kernels_compute_what_rounds_alike_everywhere(
    text: str, arrays: list[object], expected: object
) -> None:
    recorder = Recorder()
    inputs = parse_model(text, opset=27).graph.inputs
    types = [value.type.dtype.numpy for value in inputs if isinstance(value.type, TensorType)]
    constants = [np.array(array, dtype) for array, dtype in zip(arrays, types, strict=True)]
    _, results = evaluate(text, recorder, *constants)
    assert results is not None and not recorder.feeds
    np.testing.assert_array_equal(results[0], np.array(expected, np.asarray(results[0]).dtype))


def test_floats_are_fed_and_parameters_are_not() -> None:
    recorder = Recorder()
    text = "g (float[3,2] x, int64[1] axes) => (float[3] y) { y = ReduceLogSumExp<keepdims = 0>(x, axes) }"
    x = np.ones((3, 2), np.float32)
    _, results = evaluate(text, recorder, x, np.array([1]))
    assert results == [np.zeros(())]
    (feeds,), (graph,) = recorder.feeds, recorder.graphs
    assert [*feeds] == [value.name for value in graph.inputs] and feeds["x0"] is not None
    assert np.array_equal(feeds["x0"], x)
    assert [value.name for value in graph.initializers.values()] == ["x1"]


def test_a_bailout_leaves_the_node_to_its_reference_kernel() -> None:
    recorder = Recorder(bails_out=True)
    text = "g (float[2] x) => (float[2] y) { y = Exp(x) }"
    _, results = evaluate(text, recorder, np.zeros(2, np.float32))
    assert results is not None and len(recorder.feeds) == 1
    np.testing.assert_array_equal(results[0], [1, 1])


def test_without_kernels_a_node_that_rounds_is_not_evaluated() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) { y = Exp(x) }", opset=27)
    (node,) = model.graph.nodes
    assert evaluate_fixed_bits(node, model.opset_imports, [Tensor.of(np.zeros(2, np.float32))]) is None


COUNT = """g (float[n] x) => (y) {
  d = Constant <value = float {1000}> ()  l = Log(d)  i = Cast <to = 7> (l)  zero = Constant <value = int64[1] {0}> ()
  k = Unsqueeze(i, zero)  y = Tile(x, k) }"""


@pytest.mark.parametrize("folds_rounded", [True, False])
def test_inference_for_compilation_knows_no_elements_that_depend_on_rounding(folds_rounded: bool) -> None:
    model = parse_model(COUNT, opset=27)
    facts = IncrementalInference(model, folds_rounded=folds_rounded)
    facts.walk()
    elements = {node.op_type: facts.elements(node.outputs[0]) for node in model.graph.nodes}
    assert elements["Log"] == (np.log(np.float32(1000)) if folds_rounded else None)
    assert elements["Cast"] == (6 if folds_rounded else None)


def test_sizes_that_depend_on_rounding_are_compiled() -> None:
    session = sx.Session(parse_model(COUNT, opset=27), engine="native")
    x = np.array([1, 2], np.float32)
    np.testing.assert_array_equal(session.run({"x": x})["y"], np.tile(x, 6))
    assert session.stats.fallback_nodes == 0
