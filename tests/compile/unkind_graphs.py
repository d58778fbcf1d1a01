"""Random graphs whose sizes are not kind; a graph is a function of its seed.

Dims are 0, 1 or equal by chance.  An operand that is a constant in one graph is fed in another, in sizes that differ between
runs.  Sizes are fed as int64 tensors, or known only when a node was executed.  Numbers are small integers, so that most
results are exact in float32.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from compile.random_graphs import RUNS, RandomGraphBuilder, RandomModel, RandomValue, to_float64
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.build import GraphBuilder

SIZES = (1, 1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 9, 12, 13, 16, 16, 17)
OPSETS = (23, 23, 21, 18, 13)  # older ones, of a seventh of the graphs
MAX_ELEMENTS = 8_000  # of a value: graphs are many rather than large
MAX_INTEGER = 1 << 20  # sums of integers up to it are exact in float32
MAX_ROUNDED = 1e4  # of values that are no integers
MAX_TRANSFORMED = (
    256  # of the elements of 3x3 convolutions: errors of Winograd's transforms remain below the tolerance
)
MAX_ERROR = 2e-5  # of these, between float32 and float64, relative to the largest element
CONTRADICTIONS = 4  # further sets of feeds
Declared = int | str | None
T = TypeVar("T")


@dataclass(frozen=True)
class Size:
    """A dim of an input: what the model declares, and its length in each set of feeds."""

    declared: Declared
    lengths: tuple[int, ...]


@dataclass
class UnkindModel(RandomModel):
    """A random model with further feeds, in sizes or with elements that it was not generated for."""

    contradictions: list[dict[str, Array]] = field(default_factory=list)


class UnkindGraphBuilder(RandomGraphBuilder):
    """Builds a random graph from inputs with sizes in common.

    batch, channels, height, width: the sizes of images and rows.  declared: the dims of each input.  fed_share: the part of
    the constants that is fed.  number_share: the part of their dims that is declared as numbers.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.has_special_values = False
        self.max_rounded: float = MAX_ROUNDED
        if self.flip(0.15):
            self.opset = self.choose(OPSETS)
            self.builder = GraphBuilder(self.opset)
        self.declared: dict[str, tuple[Declared, ...]] = {}
        self.sizes = [self.choose(SIZES) for _ in range(3)] + [0] * self.flip(0.05)
        self.fed_share = self.choose((0, 0, 25, 50)) / 100
        self.number_share = self.choose((0, 50, 90)) / 100
        self.batch = self.draw_shared_size("B", (1, 1, 1, 2, 3))
        self.channels = number(self.draw_size())
        self.height, self.width = (self.draw_shared_size(name, self.sizes) for name in "HW")

    def choose_from(self, among: Sequence[T]) -> T:
        return among[self.draw_int(len(among) - 1)]

    # --- sizes -------------------------------------------------------------------------------

    def draw_shared_size(self, name: str, among: Sequence[int]) -> Size:
        """A number, a symbol with one length in all sets of feeds, or one with several."""
        steady = number(self.choose(among))
        if self.flip(0.35):
            return steady
        declared = None if self.flip(0.05) else name
        return Size(declared, steady.lengths if self.flip(0.3) else self.draw_lengths(among))

    def draw_lengths(self, among: Sequence[int]) -> tuple[int, ...]:
        """A length for each set of feeds; all are even where they are to be halved and doubled again."""
        factor = 2 if self.flip(0.3) else 1
        return tuple(factor * self.choose(among) for _ in range(RUNS))

    def draw_channels(self) -> int:
        """A number of channels, probably one that other values have."""
        return max(self.draw_size(), 1) if self.flip(0.7) else self.choose(SIZES)

    # --- inputs and constants ----------------------------------------------------------------

    def draw_normal(self, shape: Sequence[int]) -> Array:
        """Integers from -9 to 9 without 0, which memory that was never written may hold."""
        magnitudes = self.rng.integers(1, 10, tuple(shape))
        return np.asarray(magnitudes * self.rng.choice((-1, 1), tuple(shape)), np.float32)

    def draw_signs(self, shape: Sequence[int]) -> Array:
        """1 and -1, as weights with which sums of products remain small."""
        return np.asarray(self.rng.choice((-1, 1), tuple(shape)), np.float32)

    def add_tensor(self, sizes: Sequence[Size]) -> RandomValue:
        """A new graph input, its last dims 1 where it would have too many elements."""
        limited = list(sizes)
        for axis in reversed(range(len(limited))):
            if max(math.prod(s.lengths[run] for s in limited) for run in range(RUNS)) > MAX_ELEMENTS:
                limited[axis] = number(1)
        arrays = [self.draw_normal([s.lengths[run] for s in limited]) for run in range(RUNS)]
        value = self.add_fed(arrays, [s.declared for s in limited])
        self.values.append(value)
        return value

    def add_image(self, spatial: int = 2) -> RandomValue:
        """A new input [batch, channels, ...]."""
        return self.add_tensor((self.batch, self.channels, *(self.height, self.width)[:spatial]))

    def add_rows(self, rank: int = 2) -> RandomValue:
        """A new input [..., height, channels]."""
        return self.add_tensor((*[self.batch] * (rank - 2), self.height, self.channels))

    def add_fed(self, arrays: Sequence[Array], declared: Sequence[Declared] | None = None) -> RandomValue:
        """A new input that `pick_value` does not return.

        declared: its dims; by default each is a symbol of its own, or a number if it is the same with all feeds.
        """
        name = f"x{len(self.declared)}"
        if declared is None:
            lengths = zip(*(a.shape for a in arrays), strict=True)
            declared = [
                dims[0] if len(set(dims)) == 1 and self.flip(self.number_share) else f"{name}_{i}"
                for i, dims in enumerate(lengths)
            ]
        for feeds, array in zip(self.feeds, arrays, strict=True):
            feeds[name] = array
        self.declared[name] = tuple(declared)
        value = self.builder.input(name, DataType.of(arrays[0].dtype), declared)
        return RandomValue(value, list(arrays), list(map(to_float64, arrays)), is_exact=True)

    def add_constant(self, array: object, dtype: type = np.float32) -> RandomValue:
        """An initializer, or an input that all runs feed with the same elements; `pick_value` does not return it."""
        if self.flip(self.fed_share):
            return self.add_fed([np.asarray(array, dtype)] * RUNS)
        return super().add_constant(array, dtype)

    def add_initializer(self, array: object) -> RandomValue:
        """A constant that is never fed."""
        return super().add_constant(array)

    def add_ints(self, *numbers: int) -> RandomValue:
        """A constant vector, rarely a fed one."""
        vector = np.array(numbers, np.int64)
        return self.add_fed([vector] * RUNS) if self.flip(0.02) else super().add_constant(vector, np.int64)

    # --- nodes -------------------------------------------------------------------------------

    def add_sum(
        self, op_type: str, *inputs: RandomValue | None, **attributes: object
    ) -> list[RandomValue] | None:
        """Adds a node that computes sums of products, which are exact if the inputs are integers."""
        exact = all(x is None or is_integral(x) for x in inputs)
        return self.add_node(op_type, *inputs, exact=exact, extra_attributes=attributes)

    def add_transformed_sum(
        self, op_type: str, *inputs: RandomValue | None, **attributes: object
    ) -> list[RandomValue] | None:
        """Adds a node that may compute sums of products by Winograd's transforms, which round."""
        self.max_rounded = MAX_TRANSFORMED
        results = self.add_node(op_type, *inputs, extra_attributes=attributes)
        self.max_rounded = MAX_ROUNDED
        return results

    def evaluate_precisely(
        self,
        op_type: str,
        inputs: Sequence[RandomValue | None],
        attributes: Mapping[str, object],
        plain: Sequence[Sequence[Array]],
        *,
        exact: bool,
    ) -> list[list[Array]]:
        """As that of the base class, at no cost for exact results."""
        if exact:
            return [list(map(to_float64, row)) for row in plain]
        return super().evaluate_precisely(op_type, inputs, attributes, plain, exact=exact)

    def is_sound(self, result: RandomValue) -> bool:
        """Whether a value is finite, small enough, and nearly the same in both precisions."""
        if any(a.size > MAX_ELEMENTS or a.ndim != result.rank for a in result.arrays):
            return False
        if result.arrays[0].dtype.kind != "f":
            return result.is_exact
        largest = max(float(np.abs(p).max(initial=0)) for p in result.precise)
        if result.is_exact:
            return largest < MAX_INTEGER
        pairs = list(zip(result.arrays, result.precise, strict=True))
        error = max(float(np.abs(a - p).max(initial=0)) for a, p in pairs)
        return largest < self.max_rounded and error <= MAX_ERROR * max(largest, 1)

    # --- model -------------------------------------------------------------------------------

    def build_unkind_model(self, seed: int) -> UnkindModel:
        """The model, with feeds that contradict what it was generated for."""
        self.remove_unused()
        contradictions = [self.draw_contradiction() for _ in range(CONTRADICTIONS if self.declared else 0)]
        model = self.build_model(seed)
        return UnkindModel(seed, model.model, model.feeds, model.outputs, contradictions)

    def remove_unused(self) -> None:
        """Removes inputs and initializers that nothing reads, as those of nodes that turned out not to be valid."""
        graph = self.builder.graph
        for value in [v for v in (*graph.inputs, *graph.initializers.values()) if not v.uses]:
            if value.initializer is not None:
                graph.remove_initializer(value)
                continue
            graph.remove_input(value)
            del self.declared[value.name]
            for feeds in self.feeds:
                del feeds[value.name]
        self.values = [v for v in self.values if v.value.producer is not None or v.value.uses]

    def draw_contradiction(self) -> dict[str, Array]:
        """Feeds with other lengths of some dims, or other elements of a tensor of integers or bools."""
        feeds = dict(self.feeds[self.draw_int(RUNS - 1)])
        for _ in range(1 + self.flip(0.3)):
            name = list(feeds)[self.draw_int(len(feeds) - 1)]
            axes = [i for i, dim in enumerate(self.declared[name]) if not isinstance(dim, int)]
            if feeds[name].dtype.kind in "ib" and feeds[name].size and (not axes or self.flip(0.7)):
                feeds[name] = self.with_another_element(feeds[name])
            elif axes:
                self.change_length(feeds, name, self.choose(axes))
        return feeds

    def with_another_element(self, array: Array) -> Array:
        """The array with another element: a bool is negated, an integer near to what it was, or a size."""
        flat = array.reshape(-1).copy()
        i = self.draw_int(flat.size - 1)
        if flat.dtype.kind == "b":
            flat[i] = not flat[i]
        else:
            old = int(flat[i])
            flat[i] = self.choose((old - 1, old + 1, 2 * old, 0, 1, -1, *self.sizes))
        return flat.reshape(array.shape)

    def change_length(self, feeds: dict[str, Array], name: str, axis: int) -> None:
        """Changes the length of an axis, and probably of all axes with its symbol."""
        old, symbol = feeds[name].shape[axis], self.declared[name][axis]
        new = self.choose((max(old - 1, 0), old + 1, 2 * old, 0, 1, *self.sizes))
        for other, dims in self.declared.items():
            for i, dim in enumerate(dims):
                is_same = (other, i) == (name, axis)
                if is_same or (symbol is not None and dim == symbol and self.flip(0.9)):
                    feeds[other] = with_length(feeds[other], i, new)


def number(n: int) -> Size:
    """A size that is declared as a number."""
    return Size(n, (n,) * RUNS)


def is_integral(value: RandomValue) -> bool:
    """Whether a value is exact, and its elements are integers."""
    return value.is_exact and all(bool((a == np.rint(a)).all()) for a in value.arrays)


def with_length(array: Array, axis: int, length: int) -> Array:
    """An array with another length of an axis: its elements repeat, or are ones if it had none."""
    old = array.shape[axis]
    if old == 0:
        return np.ones((*array.shape[:axis], length, *array.shape[axis + 1 :]), array.dtype)
    repeated: Array = array.take(np.arange(length) % old, axis)
    return repeated
