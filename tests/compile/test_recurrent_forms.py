"""LSTM, GRU and RNN in every form are native and match the reference engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from compile.reference_comparison import assert_close
from models import parse_model
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Tensor

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
SIZE = 3  # of the inputs
# Of one operation of the element type, relative to the largest element: sums of dozens of them, some of which nearly cancel.
TOLERANCES = {"float": 1e-5, "double": 1e-13, "float16": 2e-3, "bfloat16": 1e-2}


@dataclass(frozen=True)
class Layer:
    """A recurrent layer.

    operands: the optional inputs that it has.  fed: whether weights are inputs of the graph; otherwise they are constant.
    outputs: the numbers of the outputs that the graph has; the others are omitted.
    """

    kind: str
    direction: str = "forward"
    hidden: int = 5
    batch: int = 3
    length: int = 4
    layout: int = 0
    dtype: str = "float"
    operands: tuple[str, ...] = ("B",)
    attributes: Mapping[str, str] = field(default_factory=dict)
    fed: bool = True
    outputs: tuple[int, ...] = (0, 1)
    lengths: tuple[int, ...] = (4, 0, 2)

    def shapes(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """The element type and dims of each operand that the layer has."""
        d, h, rows = DIRECTIONS[self.direction], self.hidden, GATES[self.kind] * self.hidden
        sequence, state = (self.length, self.batch, SIZE), (d, self.batch, h)
        if self.layout:
            sequence, state = (self.batch, self.length, SIZE), (self.batch, d, h)
        shapes = {"X": sequence, "W": (d, rows, SIZE), "R": (d, rows, h), "B": (d, 2 * rows), "P": (d, 3 * h)}
        shapes |= {"sequence_lens": (self.batch,), "initial_h": state, "initial_c": state}
        names = ("X", "W", "R", *self.operands)
        return {name: ("int32" if name == "sequence_lens" else self.dtype, shapes[name]) for name in names}

    def model(self) -> sx.Model:
        """The model; free dims where the batch and the length stand, and results in the order of `outputs`."""
        shapes = self.shapes()
        dims = {"X": ("B", "T", SIZE) if self.layout else ("T", "B", SIZE), "sequence_lens": ("B",)}
        for name in ("initial_h", "initial_c"):
            d = DIRECTIONS[self.direction]
            dims[name] = ("B", d, self.hidden) if self.layout else (d, "B", self.hidden)
        inputs = ", ".join(
            f"{dtype}[{','.join(map(str, dims.get(name, shape)))}] {name}"
            for name, (dtype, shape) in shapes.items()
        )
        order = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")
        last = max(order.index(name) for name in shapes)
        arguments = ", ".join(name if name in shapes else "" for name in order[: last + 1])
        names = [
            f"y{i}" if i in self.outputs else "" if i else "unread" for i in range(max(self.outputs) + 1)
        ]
        results = ", ".join(
            f"{self.dtype}[{'a,b,c,d' if i == 0 else f'a{i},b{i},c{i}'}] y{i}" for i in self.outputs
        )
        attributes = {
            "direction": f'"{self.direction}"',
            "hidden_size": str(self.hidden),
            "layout": str(self.layout),
        }
        attribute_text = ", ".join(
            f"{name} = {text}" for name, text in {**attributes, **self.attributes}.items()
        )
        text = f"g ({inputs}) => ({results}) {{ {', '.join(names)} = {self.kind} <{attribute_text}> ({arguments}) }}"
        model = parse_model(text, opset=28)
        return model if self.fed else with_constants(model, self.feeds(), ("W", "R", "B", "P"))

    def feeds(self) -> dict[str, Array]:
        draw = np.random.default_rng(5)
        feeds = {}
        for name, (dtype, shape) in self.shapes().items():
            if name == "sequence_lens":
                feeds[name] = np.resize(np.array(self.lengths, np.int32), self.batch)
            else:
                feeds[name] = (draw.standard_normal(shape) / 2).astype(DataType[dtype.upper()].numpy)
        return feeds


class FixedLayer(Layer):
    """A layer whose model has numbers as dims."""

    def model(self) -> sx.Model:
        return sx.tools.set_dims(super().model(), dims={"T": self.length, "B": self.batch})


def with_constants(model: sx.Model, feeds: Mapping[str, Array], names: Sequence[str]) -> sx.Model:
    """The model with these inputs as initializers."""
    for value in list(model.graph.inputs):
        if value.name in names:
            model.graph.remove_input(value)
            value.initializer = Tensor.of(feeds[value.name])
            model.graph.add_initializer(value)
    return model


def assert_native(layer: Layer, *others: Mapping[str, Array]) -> None:
    """Asserts that a layer is native, and equal to the reference engine on one and two threads, which agree to the bit."""
    model = layer.model()
    sessions = [sx.Session(model, engine="native", threads=threads) for threads in (1, 2)]
    reference = sx.Session(model, engine="reference")
    assert sessions[0].stats.fallback_nodes == 0
    inputs = {value.name for value in model.graph.inputs}
    for feeds in (layer.feeds(), *others):
        feeds = {name: array for name, array in feeds.items() if name in inputs}
        first, second = (session.run(feeds) for session in sessions)
        for name, expected in reference.run(feeds).items():
            result, other = np.asarray(first[name]), np.asarray(second[name])
            assert_equal_within(result, np.asarray(expected), TOLERANCES[layer.dtype])
            assert result.tobytes() == other.tobytes()
    assert not sessions[0].stats.bailouts


def assert_equal_within(result: Array, expected: Array, tolerance: float) -> None:
    assert result.dtype == expected.dtype and result.shape == expected.shape
    wide, result = expected.astype(np.float64), result.astype(np.float64)
    np.testing.assert_allclose(result, wide, 0, tolerance * max(np.abs(wide).max(initial=0), 1e-30))


KINDS = pytest.mark.parametrize("kind", GATES)
EACH_DIRECTION = pytest.mark.parametrize("direction", DIRECTIONS)


def states(kind: str) -> tuple[str, ...]:
    return ("initial_h", "initial_c") if kind == "LSTM" else ("initial_h",)


@KINDS
@EACH_DIRECTION
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "double", "float16", "bfloat16"])
def test_types_directions_and_layouts(kind: str, direction: str, layout: int, dtype: str) -> None:
    operands = ("B", "sequence_lens", *states(kind))
    assert_native(Layer(kind, direction, layout=layout, dtype=dtype, operands=operands))


@KINDS
@EACH_DIRECTION
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("has_lengths", [False, True])
def test_constant_weights(kind: str, direction: str, dtype: str, has_lengths: bool) -> None:
    operands = ("B", *(("sequence_lens",) if has_lengths else ()))
    assert_native(Layer(kind, direction, 17, dtype=dtype, operands=operands, fed=False))


@KINDS
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("dtype", ["float", "double"])
def test_a_layer_without_biases(kind: str, fed: bool, dtype: str) -> None:
    assert_native(Layer(kind, "bidirectional", dtype=dtype, operands=(), fed=fed))


@pytest.mark.parametrize("linear_before_reset", ["0", "1"])
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.parametrize("operands", [("B",), ("B", "sequence_lens"), ()])
def test_gru_resets(linear_before_reset: str, fed: bool, operands: tuple[str, ...]) -> None:
    attributes = {"linear_before_reset": linear_before_reset}
    assert_native(Layer("GRU", "bidirectional", 18, operands=operands, attributes=attributes, fed=fed))


@EACH_DIRECTION
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("input_forget", ["0", "1"])
@pytest.mark.parametrize("fed", [False, True])
def test_lstm_peepholes_and_coupled_gates(direction: str, dtype: str, input_forget: str, fed: bool) -> None:
    operands = ("B", "sequence_lens", "initial_h", "initial_c", "P")
    layer = Layer("LSTM", direction, dtype=dtype, operands=operands, fed=fed, outputs=(0, 1, 2))
    assert_native(replace(layer, attributes={"input_forget": input_forget}))
    assert_native(replace(layer, attributes={"input_forget": input_forget, "clip": "0.25"}))


ACTIVATIONS = (
    *("Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid"),
    *("Elu", "Softsign", "Softplus"),
)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("clip", [None, "0.75"])
def test_activations(activation: str, dtype: str, clip: str | None) -> None:
    attributes = {"activations": f'["{activation}"]'}
    if activation in ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"):
        attributes["activation_alpha"] = "[0.3]"
    if activation in ("Affine", "ScaledTanh", "HardSigmoid"):
        attributes["activation_beta"] = "[0.7]"
    attributes |= {} if clip is None else {"clip": clip}
    assert_native(Layer("RNN", dtype=dtype, attributes=attributes, length=6))


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_activations_of_each_gate_and_direction(kind: str) -> None:
    names = ["relu", "TANH", "Affine", "HardSigmoid", "LeakyRelu", "Softsign"]
    count = {"LSTM": 6, "GRU": 4}[kind]
    attributes = {"activations": str(names[:count]).replace("'", '"'), "activation_alpha": "[0.4]"}
    assert_native(Layer(kind, "bidirectional", attributes=attributes))


@pytest.mark.parametrize("outputs", [(0,), (1,), (0, 1), (2,), (1, 2), (0, 2)])
def test_every_output_of_an_lstm_is_optional(outputs: tuple[int, ...]) -> None:
    assert_native(Layer("LSTM", "bidirectional", outputs=outputs, operands=("B", "sequence_lens")))


@pytest.mark.parametrize("kind", ["GRU", "RNN"])
@pytest.mark.parametrize("outputs", [(0,), (1,)])
def test_every_output_is_optional(kind: str, outputs: tuple[int, ...]) -> None:
    assert_native(Layer(kind, "bidirectional", outputs=outputs, operands=("B", "sequence_lens")))


@KINDS
@pytest.mark.parametrize("batch", [1, 2, 5, 11])
@pytest.mark.parametrize("hidden", [1, 16, 33])
def test_batches_and_sizes(kind: str, batch: int, hidden: int) -> None:
    assert_native(Layer(kind, "bidirectional", hidden, batch, length=3, fed=False))


@KINDS
@EACH_DIRECTION
def test_sizes_of_the_run(kind: str, direction: str) -> None:
    layer = Layer(kind, direction, operands=("B", "sequence_lens", *states(kind)), outputs=(0, 1))
    sizes = [(1, 1, (1,)), (0, 2, (0, 0)), (7, 3, (0, 7, 3)), (2, 0, (0,)), (3, 9, (3, 1, 0))]
    others = [replace(layer, length=t, batch=b, lengths=lens).feeds() for t, b, lens in sizes]
    assert_native(layer, *others)


@KINDS
def test_a_sequence_of_inputs_without_elements(kind: str) -> None:
    model = parse_model(
        f"g (float[T,B,0] x, float[1,{2 * GATES[kind]},0] w, float[1,{2 * GATES[kind]},2] r, "
        f"float[1,{4 * GATES[kind]}] b) => (float[T,D,B,H] y) {{ y = {kind} <hidden_size = 2> (x, w, r, b) }}",
        opset=28,
    )
    shapes = {
        "x": (3, 2, 0),
        "w": (1, 2 * GATES[kind], 0),
        "r": (1, 2 * GATES[kind], 2),
        "b": (1, 4 * GATES[kind]),
    }
    draw = np.random.default_rng(0)
    feeds = {name: draw.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    assert_close(np.asarray(native.run(feeds)["y"]), np.asarray(reference.run(feeds)["y"]))


@KINDS
@pytest.mark.parametrize("lengths", [(5, 1, 1), (-1, 2, 2), (2**31 - 1, 0, 0)])
def test_lengths_beyond_the_sequence_are_refused_alike(kind: str, lengths: tuple[int, ...]) -> None:
    layer = Layer(kind, operands=("B", "sequence_lens"))
    model, feeds = layer.model(), replace(layer, lengths=lengths).feeds()
    messages = []
    for engine in ("native", "reference"):
        session = sx.Session(model, engine=engine)
        with pytest.raises(sx.EvaluationError) as error:
            session.run(feeds)
        messages.append(str(error.value))
        session.run(layer.feeds())
    assert messages[0] == messages[1] and "sequence_lens must lie in [0, 4]" in messages[0]


def test_large_half_precision_weights_are_native() -> None:
    """Weights of more elements than constants that are promoted at compile time."""
    layer = Layer("LSTM", hidden=80, dtype="bfloat16", fed=False)
    assert layer.feeds()["R"].dtype == ml_dtypes.bfloat16
    assert_native(layer)
