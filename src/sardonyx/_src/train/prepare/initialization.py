"""The initialization graph of a training step: zeros for the state of the optimizer, and drawn values for weights."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from sardonyx._src.arguments import require_integer, texts_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ops.registry import find
from sardonyx._src.suggestions import suggest
from sardonyx._src.train.losses.base import check_number
from sardonyx._src.train.prepare.selection import match_names

Initialization = str | float | Mapping[str, "str | float"]
Draw = str | float
DISTRIBUTIONS = ("he_normal", "he_uniform", "glorot_normal", "glorot_uniform", "zeros", "ones", "stored")
MAX_CONSTANT_ELEMENTS = 64  # elements of a uniform tensor that is written as a Constant


@dataclass(slots=True)
class InitializationGraph:
    """The graph that computes initial values, and the bindings of its outputs.

    seed: the seed of the first random operator; each later one has the next number.
    bindings: pairs of a state and the output that initializes it.
    draws: the number of random operators so far.
    """

    opset: int
    names: FreshNames
    seed: int
    graph: Graph
    bindings: list[tuple[Value, Value]]
    draws: int = 0

    @classmethod
    def new(cls, opset: int, names: FreshNames, seed: int) -> InitializationGraph:
        """An empty initialization graph.

        Raises InputError for a seed that is not in 0 to 2**24: seeds are float attributes, which hold these integers exactly.
        """
        require_integer("seed", seed, 0, 1 << 24)
        return cls(opset, names, int(seed), Graph(names.fresh("initialization")), [])

    def reset(self, state: Value) -> None:
        """Resets a state to its stored value."""
        tensor = state.initializer
        assert isinstance(tensor, Tensor), f"{state!r} has no tensor"
        array = tensor.numpy()
        b = self.builder()
        is_even = array.size > MAX_CONSTANT_ELEMENTS and bool((array == array.flat[0]).all())
        if is_even:
            shape = b.op("Constant", outputs=self.name("shape"), value=np.asarray(array.shape, np.int64))
            value = Tensor.of(array.reshape(-1)[:1], tensor.dtype)
            result = b.ConstantOfShape(shape, outputs=self.name(f"initial_{state.name}"), value=value)
        else:
            content = Tensor(tensor.dtype, tensor.shape, tensor.storage)
            result = b.op("Constant", outputs=self.name(f"initial_{state.name}"), value=content)
        self.bind(state, result)

    def draw(self, state: Value, master: Value | None, draw: Draw) -> None:
        """Draws the value of a weight, and of its master copy."""
        tensor = state.initializer
        assert isinstance(tensor, Tensor), f"{state!r} has no tensor"
        b = self.builder()
        dtype = tensor.dtype if master is None else DataType.FLOAT
        value = self.random_values(b, state, tensor, draw, dtype)
        if value is None:
            self.reset(state)
            if master is not None:
                self.reset(master)
            return
        if master is not None:
            self.bind(master, value)
            value = b.Cast(value, outputs=self.name(f"initial_{state.name}"), to=tensor.dtype)
        self.bind(state, value)

    def random_values(
        self, b: GraphBuilder, state: Value, tensor: Tensor, draw: Draw, dtype: DataType
    ) -> Value | None:
        """A drawn or constant tensor; None for the stored value."""
        output = self.name(f"initial_{state.name}")
        if draw in ("zeros", "ones"):
            shape = b.op("Constant", outputs=self.name("shape"), value=np.asarray(tensor.shape, np.int64))
            number = Tensor.of(np.asarray([float(draw == "ones")]), dtype)
            return b.ConstantOfShape(shape, outputs=output, value=number)
        if draw == "stored":
            return None
        seed = float(self.seed + self.draws)
        self.draws += 1
        options = {"shape": list(tensor.shape), "seed": seed, "dtype": dtype}
        if not isinstance(draw, str):
            return b.RandomNormal(outputs=output, mean=0.0, scale=float(draw), **options)
        fan_in, fan_out = fans(state, tensor.shape)
        variance = 2 / fan_in if draw.startswith("he") else 2 / (fan_in + fan_out)
        if draw.endswith("normal"):
            return b.RandomNormal(outputs=output, mean=0.0, scale=math.sqrt(variance), **options)
        bound = math.sqrt(3 * variance)
        return b.RandomUniform(outputs=output, low=-bound, high=bound, **options)

    def bind(self, state: Value, result: Value) -> None:
        tensor = state.initializer
        assert isinstance(tensor, Tensor), f"{state!r} has no tensor"
        result.type = TensorType(tensor.dtype, tensor.shape)
        self.graph.outputs.append(result)
        self.bindings.append((state, result))

    def builder(self) -> GraphBuilder:
        return GraphBuilder(self.opset, graph=self.graph)

    def name(self, base: str) -> list[str]:
        """A free name, as the outputs of a node."""
        return [self.names.fresh(base)]


def draw_of(initialization: Initialization | None, value: Value) -> Draw | None:
    """The distribution or standard deviation of a weight; None if the initialization does not name the weight.

    A single name or number for all weights does not apply to vectors, that is to biases and parameters of norms: these
    keep their stored values.
    """
    if initialization is None:
        return None
    if isinstance(initialization, Mapping):
        return next((d for pattern, d in initialization.items() if fnmatchcase(value.name, pattern)), None)
    tensor = value.initializer
    assert isinstance(tensor, Tensor), f"{value!r} has no tensor"
    return initialization if len(tensor.shape) > 1 else "stored"


def check_initialization(initialization: Initialization | None) -> None:
    """Raises InputError unless it is None, a distribution, a standard deviation, or a mapping of patterns to these."""
    if initialization is None:
        return
    if isinstance(initialization, Mapping):
        texts_of("the patterns of initialization", initialization)
    draws = list(initialization.values()) if isinstance(initialization, Mapping) else [initialization]
    for draw in draws:
        if not isinstance(draw, str):
            check_number("initialization", draw, 0, math.inf)
        elif draw not in DISTRIBUTIONS:
            hint = suggest(draw, DISTRIBUTIONS, "distributions")
            raise InputError(f"there is no distribution {draw!r}{hint}", name="initialization")


def check_patterns(initialization: Initialization | None, model: Model) -> None:
    """Raises InputError for a pattern that matches no initializer."""
    if isinstance(initialization, Mapping):
        match_names([*initialization], model.graph.initializers, "initialization")


def fans(weight: Value, shape: Sequence[int]) -> tuple[int, int]:
    """The fan-in and fan-out of a weight: how many inputs each output sums, and how many outputs each input reaches.

    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010.
    """
    if len(shape) < 2:
        size = math.prod(shape) or 1
        return size, size
    reader = next(iter(node for node, _ in weight.uses), None)
    kind = layer_kind(reader)
    area = math.prod(shape[2:])
    if kind == "conv":
        return max(shape[1] * area, 1), max(shape[0] * area, 1)
    if kind == "conv_transpose":
        return max(shape[0] * area, 1), max(shape[1] * area, 1)
    rows, columns = shape[-2], shape[-1]
    if reader is not None and kind == "gemm" and is_transposed(reader):
        rows, columns = columns, rows
    return max(rows, 1), max(columns, 1)


def layer_kind(reader: Node | None) -> str | None:
    op = None if reader is None else find(reader.domain, reader.op_type)
    return None if op is None else op.linear_layer


def is_transposed(node: Node) -> bool:
    """Whether a Gemm reads its weights transposed: [out, in]."""
    attribute = node.attributes.get("transB")
    return attribute is not None and bool(attribute.value)
