"""Random graphs with the reference engine's results; a graph is a function of its seed.

A graph grows node by node.  Each candidate runs at once on the reference engine, for every set of feeds, in the
model's own floats and again in float64; it is kept only if it is valid and well conditioned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model, TensorType, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.schema import latest

F, I64, B = DataType.FLOAT, DataType.INT64, DataType.BOOL
MAX_VALUE_ELEMENTS = 60_000  # most elements of a value
MAX_MAGNITUDE = 1e4  # of rounded values: sums of larger ones could overflow in one order and not in another
MAX_RELATIVE_ERROR = 2e-4  # between float32 and float64, relative to the largest element
LOGARITHMS = {"ReduceLogSum", "ReduceLogSumExp"}
LEAST_LOGARITHM = 0.03  # of one, or of the largest exponent
RUNS = 3  # sets of feeds


@dataclass(eq=False)
class RandomValue:
    """A value of the graph.

    arrays, precise: for each set of feeds, its value in float32 and in float64.  is_exact: whether every engine must
    compute the same bits, because only single IEEE operations have rounded.
    """

    value: Value
    arrays: list[Array]
    precise: list[Array]
    is_exact: bool

    @property
    def dtype(self) -> DataType:
        return DataType.of(self.arrays[0].dtype)

    @property
    def rank(self) -> int:
        return self.arrays[0].ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape with the first feeds."""
        return self.arrays[0].shape

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same with all feeds, as what is computed from constants and fixed shapes is."""
        return all(a.shape == self.shape and a.tobytes() == self.arrays[0].tobytes() for a in self.arrays)

    @property
    def fixed(self) -> tuple[bool, ...]:
        """For each dim, whether it is the same with all feeds."""
        return tuple(len({a.shape[i] for a in self.arrays}) == 1 for i in range(self.rank))


@dataclass
class RandomModel:
    """A model with sets of feeds, and the expected outputs: exact, or within a tolerance."""

    seed: int
    model: Model
    feeds: list[dict[str, Array]]
    outputs: dict[str, RandomValue] = field(default_factory=dict)


class RandomGraphBuilder:
    """Builds a random graph; all draws come from one generator."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.opset = latest("")
        self.builder = GraphBuilder(self.opset)
        self.values: list[RandomValue] = []
        self.feeds: list[dict[str, Array]] = [{} for _ in range(RUNS)]
        self.has_special_values = self.flip(0.25)  # whether inputs have NaN and the like
        self.sizes = [int(n) for n in self.rng.choice((1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 33), 3)]
        if self.flip(0.15):
            self.sizes.append(0)
        lengths = (0, 1, 2, 3, 5, 6, 11, 16, 19, 40)
        self.lengths = {name: [int(n) for n in self.rng.choice(lengths, RUNS)] for name in ("N", "M")}
        self.is_symbolic = self.flip(0.5)

    # --- draws -------------------------------------------------------------------------------

    def flip(self, probability: float = 0.5) -> bool:
        return bool(self.rng.random() < probability)

    def choose(self, among: Sequence[int]) -> int:
        return int(among[int(self.rng.integers(len(among)))])

    def draw_int(self, limit: int) -> int:
        """A number from 0 to `limit`."""
        return int(self.rng.integers(limit + 1))

    def choose_name(self, *words: str) -> str:
        return words[self.draw_int(len(words) - 1)]

    def draw_size(self) -> int:
        return self.choose(self.sizes)

    def pick_value(
        self, fits: Callable[[RandomValue], bool] = lambda value: True, dtype: DataType | None = F
    ) -> RandomValue | None:
        """A random value that fits; recent ones are more likely."""
        candidates = [v for v in self.values if (dtype is None or v.dtype is dtype) and fits(v)]
        if not candidates:
            return None
        distance = min(int(self.rng.geometric(0.35)) - 1, len(candidates) - 1)
        return candidates[-1 - distance]

    # --- leaves ------------------------------------------------------------------------------

    def draw_normal(self, shape: Sequence[int]) -> Array:
        numbers: Array = self.rng.standard_normal(tuple(shape)).astype(np.float32)
        return numbers

    def draw_special(self, shape: Sequence[int]) -> Array:
        """Normal numbers, some of them replaced by special values: NaN, infinity, zeros, denormals."""
        numbers = self.draw_normal(shape)
        special_values = np.array(
            [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-41, -1e-45, 3e3, 1.0, -1.0], np.float32
        )
        is_special = self.rng.random(numbers.shape) < 0.04
        numbers[is_special] = self.rng.choice(special_values, int(is_special.sum()))
        return numbers

    def add_input(self, rank: int) -> RandomValue:
        """A new graph input whose dims are numbers or symbols, the last ones 1 where it would have too many elements."""
        names = [
            self.choose_name("N", "M") if self.is_symbolic and self.flip(0.4) else "" for _ in range(rank)
        ]
        dims = [self.draw_size() for _ in range(rank)]
        for axis in reversed(range(rank)):
            if self.most_elements(names, dims) > MAX_VALUE_ELEMENTS:
                names[axis], dims[axis] = "", 1
        name = f"x{len(self.feeds[0])}"
        arrays = []
        for run, feeds in enumerate(self.feeds):
            shape = [self.lengths[n][run] if n else d for n, d in zip(names, dims, strict=True)]
            feeds[name] = self.draw_special(shape) if self.has_special_values else self.draw_normal(shape)
            arrays.append(feeds[name])
        value = self.builder.input(name, F, [n or d for n, d in zip(names, dims, strict=True)])
        return self.add_value(value, arrays)

    def most_elements(self, names: Sequence[str], dims: Sequence[int]) -> int:
        """The greatest number of elements of a tensor with these dims, over the sets of feeds."""
        return max(
            math.prod(self.lengths[n][run] if n else d for n, d in zip(names, dims, strict=True))
            for run in range(RUNS)
        )

    def add_value(self, value: Value, arrays: list[Array]) -> RandomValue:
        random_value = RandomValue(value, arrays, [to_float64(a) for a in arrays], is_exact=True)
        self.values.append(random_value)
        return random_value

    def add_constant(self, array: object, dtype: type = np.float32) -> RandomValue:
        """A new initializer, which `pick_value` does not return."""
        constant: Array = np.asarray(array, dtype)
        name = f"c{len(self.builder.graph.initializers)}"
        value = self.builder.constant(name, constant)
        return RandomValue(value, [constant] * RUNS, [to_float64(constant)] * RUNS, is_exact=True)

    def add_ints(self, *numbers: int) -> RandomValue:
        return self.add_constant(numbers, np.int64)

    # --- nodes -------------------------------------------------------------------------------

    def add_node(
        self,
        op_type: str,
        *inputs: RandomValue | None,
        outputs: int = 1,
        exact: bool = False,
        extra_attributes: Mapping[str, object] | None = None,
        **attributes: object,
    ) -> list[RandomValue] | None:
        """Adds a node if it is valid and well conditioned with all feeds; otherwise returns None.

        exact: whether the operator rounds at most once.
        """
        attributes |= extra_attributes or {}
        exact = exact and all(x is None or x.is_exact for x in inputs)
        try:
            with np.errstate(all="ignore"):
                plain = evaluate(op_type, rows(inputs, "arrays"), outputs, attributes, opset=self.opset)
                precise = self.evaluate_precisely(op_type, inputs, attributes, plain, exact=exact)
        except SardonyxError:
            return None
        return self.add_if_well_conditioned(op_type, inputs, attributes, plain, precise, exact=exact)

    def evaluate_precisely(
        self,
        op_type: str,
        inputs: Sequence[RandomValue | None],
        attributes: Mapping[str, object],
        plain: Sequence[Sequence[Array]],
        *,
        exact: bool,
    ) -> list[list[Array]]:
        """The results of a node in float64, for each set of feeds; plain: in float32.  exact: whether they are equal."""
        attributes = {k: DataType.DOUBLE if v is F else v for k, v in attributes.items()}
        return evaluate(op_type, rows(inputs, "precise"), len(plain[0]), attributes, opset=self.opset)

    def is_sound(self, result: RandomValue) -> bool:
        """Whether a value is small enough, and nearly the same in both precisions."""
        pairs = zip(result.arrays, result.precise, strict=True)
        return all(is_well_conditioned(a, p, result) for a, p in pairs)

    def add_if_well_conditioned(
        self,
        op_type: str,
        inputs: Sequence[RandomValue | None],
        attributes: Mapping[str, object],
        plain: Sequence[Sequence[Array]],
        precise: Sequence[Sequence[Array]],
        *,
        exact: bool,
    ) -> list[RandomValue] | None:
        """Adds a node if its results with all feeds, in float32 and float64, are well conditioned."""
        columns = zip(zip(*plain, strict=True), zip(*precise, strict=True), strict=True)
        results = [
            RandomValue(Value(""), list(a), list(map(to_float64, a if exact else p)), exact)
            for a, p in columns
        ]
        if not all(map(self.is_sound, results)):
            return None
        exponents = inputs[0] if op_type == "ReduceLogSumExp" else None
        if op_type in LOGARITHMS and not is_larger_than_its_error(results[0], exponents):
            return None
        operands = [None if x is None else x.value for x in inputs]
        node = self.builder.node(op_type, operands, len(results), **attributes)  # type: ignore[arg-type]  # no attribute has the name of a parameter
        for result, value in zip(results, node.outputs, strict=True):
            result.value = value
        self.values += results
        return results

    # --- model -----------------------------------------------------------------------------

    def build_model(self, seed: int) -> RandomModel:
        """The model; its outputs are the values without consumers, and some others."""
        output_values = [
            random_value for random_value in self.values if not random_value.value.uses or self.flip(0.1)
        ]
        outputs: dict[str, RandomValue] = {}
        for random_value in output_values:
            is_input = random_value.value.producer is None
            self.builder.output(random_value.value, type=None if is_input else TensorType(random_value.dtype))
            outputs[random_value.value.name] = random_value
        return RandomModel(seed, self.builder.model(), self.feeds, outputs)


def rows(inputs: Sequence[RandomValue | None], which: str) -> list[list[Array | None]]:
    """The arrays of a node's inputs, for each set of feeds; which: `arrays` or `precise`."""
    return [[None if x is None else getattr(x, which)[run] for x in inputs] for run in range(RUNS)]


def evaluate(
    op_type: str,
    rows: Sequence[Sequence[Array | None]],
    outputs: int,
    attributes: Mapping[str, object] | Callable[[list[Value]], Mapping[str, object]],
    captured: int = 0,
    *,
    opset: int,
) -> list[list[Array]]:
    """The reference engine's results of one node, for each row of inputs, whose element types are those of the first row.

    captured: the number of arrays at the end of a row that are no inputs; `attributes` may be a function of their values.
    """
    builder = GraphBuilder(opset=opset)
    present = {f"x{i}": i for i, array in enumerate(rows[0]) if array is not None}
    values = {name: builder.input(name, DataType.of(rows[0][i].dtype)) for name, i in present.items()}  # type: ignore[union-attr]  # it is present
    operands = [values.get(f"x{i}") for i in range(len(rows[0]))]
    count = len(operands) - captured
    if callable(attributes):
        attributes = attributes([value for value in operands[count:] if value is not None])
    node = builder.node(op_type, operands[:count], outputs, **attributes)  # type: ignore[arg-type]  # no attribute has the name of a parameter
    for value in node.outputs:
        builder.output(value)
    interpreter = Interpreter(builder.model())
    feeds = [{name: row[i] for name, i in present.items()} for row in rows]
    return [[np.asarray(output) for output in interpreter.run(feed).values()] for feed in feeds]


def to_float64(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype == np.float32 else array


def is_larger_than_its_error(logarithm: RandomValue, exponents: RandomValue | None) -> bool:
    """Whether a logarithm of sums is not near zero, where the rounding of the sum decides it, which may by chance be none in
    one order of terms; exponents: of a sum of exponentials."""
    scales = [1.0] * RUNS if exponents is None else [max(1.0, magnitude(p)) for p in exponents.precise]
    return all(
        not np.isfinite(p).any() or magnitude(p) >= LEAST_LOGARITHM * scale
        for p, scale in zip(logarithm.precise, scales, strict=True)
    )


def magnitude(array: Array) -> float:
    """The largest absolute value of the finite elements."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def is_well_conditioned(array: Array, precise: Array, result: RandomValue) -> bool:
    if array.size > MAX_VALUE_ELEMENTS or array.shape != precise.shape or array.ndim != result.rank:
        return False
    if result.is_exact or array.dtype.kind != "f":
        return result.is_exact
    with np.errstate(all="ignore"):
        have_equal_specials = np.array_equal(np.isnan(array), np.isnan(precise)) and np.array_equal(
            np.isinf(array), np.isinf(precise)
        )
        finite = np.isfinite(precise)
        largest = float(np.abs(precise[finite]).max(initial=0.0))
        difference = float(np.abs(array[finite] - precise[finite]).max(initial=0.0))
    return (
        have_equal_specials
        and largest < MAX_MAGNITUDE
        and difference <= MAX_RELATIVE_ERROR * max(largest, 1e-3)
    )
