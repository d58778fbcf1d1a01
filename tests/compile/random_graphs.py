"""Graphs made by chance, with what the reference engine makes of them: a tree of draws from one seed.

A graph grows node by node.  Each candidate runs at once on the reference engine, for every set of feeds, in the
model's own floats and again in float64; it stays only if it is valid there and well conditioned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.build import Builder
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.schema import latest

F, I64, B = DataType.FLOAT, DataType.INT64, DataType.BOOL
MOST = 60_000  # elements of a value
LARGEST = 1e4  # of a rounded value: sums of larger ones could overflow in one order and not in another
AMPLIFIED = 2e-4  # how far float32 and float64 may be apart, relative to the largest element
RUNS = 3  # sets of feeds


@dataclass(eq=False)
class Made:
    """A value of the graph.

    arrays, precise: for each set of feeds what float32 makes of it, and what float64 does.  is_exact: whether every
    engine has to make the same bits, because nothing has been rounded but by single IEEE operations.
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
        """The dims under the first feeds."""
        return self.arrays[0].shape

    @property
    def fixed(self) -> tuple[bool, ...]:
        """Which dims are the same under all feeds."""
        return tuple(len({a.shape[i] for a in self.arrays}) == 1 for i in range(self.rank))


@dataclass
class Sample:
    """A model with sets of feeds, and what has to come of each: exact bits, or numbers with an error allowed."""

    seed: int
    model: Model
    feeds: list[dict[str, Array]]
    outputs: dict[str, Made] = field(default_factory=dict)


class Growing:
    """A graph on its way."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.builder = Builder(opset=latest(""))
        self.values: list[Made] = []
        self.feeds: list[dict[str, Array]] = [{} for _ in range(RUNS)]
        self.is_wild = self.coin(0.25)  # whether inputs have NaN and the like
        self.sizes = [int(n) for n in self.chance.choice((1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 33), 3)]
        if self.coin(0.15):
            self.sizes.append(0)
        lengths = (0, 1, 2, 3, 5, 6, 11, 16, 19, 40)
        self.lengths = {name: [int(n) for n in self.chance.choice(lengths, RUNS)] for name in ("N", "M")}
        self.is_symbolic = self.coin(0.5)

    # --- draws -------------------------------------------------------------------------------

    def coin(self, probability: float = 0.5) -> bool:
        return bool(self.chance.random() < probability)

    def one(self, among: Sequence[int]) -> int:
        return int(among[int(self.chance.integers(len(among)))])

    def up_to(self, most: int) -> int:
        """A number from 0 to `most`."""
        return int(self.chance.integers(most + 1))

    def word(self, *words: str) -> str:
        return words[self.up_to(len(words) - 1)]

    def size(self) -> int:
        return self.one(self.sizes)

    def pick(
        self, fits: Callable[[Made], bool] = lambda made: True, dtype: DataType | None = F
    ) -> Made | None:
        """A value that fits, later ones more often."""
        found = [made for made in self.values if (dtype is None or made.dtype is dtype) and fits(made)]
        if not found:
            return None
        back = min(int(self.chance.geometric(0.35)) - 1, len(found) - 1)
        return found[-1 - back]

    # --- leaves ------------------------------------------------------------------------------

    def normal(self, shape: Sequence[int]) -> Array:
        drawn: Array = self.chance.standard_normal(tuple(shape)).astype(np.float32)
        return drawn

    def wild(self, shape: Sequence[int]) -> Array:
        """Normal numbers, some of them replaced by those that are easily mistaken."""
        found = self.normal(shape)
        odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-41, -1e-45, 3e3, 1.0, -1.0], np.float32)
        at = self.chance.random(found.shape) < 0.04
        found[at] = self.chance.choice(odd, int(at.sum()))
        return found

    def input(self, rank: int) -> Made:
        """A new input whose dims are numbers or symbols."""
        names = [self.word("N", "M") if self.is_symbolic and self.coin(0.4) else "" for _ in range(rank)]
        dims = [self.size() for _ in range(rank)]
        name = f"x{len(self.feeds[0])}"
        arrays = []
        for run, feeds in enumerate(self.feeds):
            shape = [self.lengths[n][run] if n else d for n, d in zip(names, dims, strict=True)]
            feeds[name] = self.wild(shape) if self.is_wild else self.normal(shape)
            arrays.append(feeds[name])
        value = self.builder.input(name, F, [n or d for n, d in zip(names, dims, strict=True)])
        return self.known(value, arrays)

    def known(self, value: Value, arrays: list[Array]) -> Made:
        made = Made(value, arrays, [widened(a) for a in arrays], is_exact=True)
        self.values.append(made)
        return made

    def constant(self, array: object, dtype: type = np.float32) -> Made:
        """An initializer; it is no candidate for `pick`."""
        found: Array = np.asarray(array, dtype)
        name = f"c{len(self.builder.graph.initializers)}"
        value = self.builder.constant(name, found)
        return Made(value, [found] * RUNS, [widened(found)] * RUNS, is_exact=True)

    def ints(self, *numbers: int) -> Made:
        return self.constant(numbers, np.int64)

    # --- nodes -------------------------------------------------------------------------------

    def op(
        self,
        op_type: str,
        *inputs: Made | None,
        outputs: int = 1,
        exact: bool = False,
        how: Mapping[str, object] | None = None,
        **attributes: object,
    ) -> list[Made] | None:
        """A further node, if it is valid and well conditioned under all feeds; `exact` operators round once at most.

        how: further attributes.
        """
        attributes |= how or {}
        exact = exact and all(made is None or made.is_exact for made in inputs)
        try:
            with np.errstate(all="ignore"):
                plain = [evaluated(op_type, row, outputs, attributes) for row in rows(inputs, "arrays")]
                wide = {k: DataType.DOUBLE if v is F else v for k, v in attributes.items()}
                precise = [evaluated(op_type, row, outputs, wide) for row in rows(inputs, "precise")]
        except SardonyxError:
            return None
        return self.keep(op_type, inputs, attributes, plain, precise, exact=exact)

    def keep(
        self,
        op_type: str,
        inputs: Sequence[Made | None],
        attributes: Mapping[str, object],
        plain: Sequence[Sequence[Array]],
        precise: Sequence[Sequence[Array]],
        *,
        exact: bool,
    ) -> list[Made] | None:
        """Puts down a node, if what it makes under each of the feeds, in both precisions, is well conditioned."""
        columns = zip(zip(*plain, strict=True), zip(*precise, strict=True), strict=True)
        made = [Made(Value(""), list(a), list(map(widened, a if exact else p)), exact) for a, p in columns]
        if not all(map(is_sound, made)):
            return None
        given = [None if one is None else one.value for one in inputs]
        node = self.builder.node(op_type, given, len(made), **attributes)  # type: ignore[arg-type]  # none is called so
        for one, value in zip(made, node.outputs, strict=True):
            one.value = value
        self.values += made
        return made

    # --- the end -----------------------------------------------------------------------------

    def sample(self, seed: int) -> Sample:
        """The model; its outputs are what nobody reads, and some of what somebody does."""
        wanted = [made for made in self.values if not made.value.uses or self.coin(0.1)]
        outputs: dict[str, Made] = {}
        for made in wanted:
            self.builder.output(made.value, type=TensorType(made.dtype))
            outputs[made.value.name] = made
        return Sample(seed, self.builder.model(), self.feeds, outputs)


def rows(inputs: Sequence[Made | None], which: str) -> list[list[Array | None]]:
    """The inputs of a node, for each set of feeds."""
    return [[None if one is None else getattr(one, which)[run] for one in inputs] for run in range(RUNS)]


def evaluated(
    op_type: str,
    inputs: Sequence[Array | None],
    outputs: int,
    attributes: Mapping[str, object] | Callable[[list[Value]], Mapping[str, object]],
    around: Sequence[Array | None] = (),
) -> list[Array]:
    """What the reference engine makes of one node; `attributes` may be made of the values around it."""
    builder = Builder(opset=latest(""))
    fed = {f"x{i}": array for i, array in enumerate((*inputs, *around)) if array is not None}
    values = {name: builder.input(name, DataType.of(a.dtype), a.shape) for name, a in fed.items()}
    given = [values.get(f"x{i}") for i in range(len(inputs))]
    if callable(attributes):
        attributes = attributes([values[f"x{len(inputs) + i}"] for i in range(len(around))])
    node = builder.node(op_type, given, outputs, **attributes)  # type: ignore[arg-type]  # none is called so
    for value in node.outputs:
        builder.output(value)
    return [np.asarray(found) for found in Interpreter(builder.model()).run(dict(fed)).values()]


def widened(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype == np.float32 else array


def is_sound(made: Made) -> bool:
    """Whether a value is small, and as good as the same in both precisions."""
    return all(is_like(a, p, made) for a, p in zip(made.arrays, made.precise, strict=True))


def is_like(array: Array, precise: Array, made: Made) -> bool:
    if array.size > MOST or array.shape != precise.shape or array.ndim != made.rank:
        return False
    if made.is_exact or array.dtype.kind != "f":
        return made.is_exact
    with np.errstate(all="ignore"):
        alike = np.array_equal(np.isnan(array), np.isnan(precise)) and np.array_equal(
            np.isinf(array), np.isinf(precise)
        )
        finite = np.isfinite(precise)
        largest = float(np.abs(precise[finite]).max(initial=0.0))
        apart = float(np.abs(array[finite] - precise[finite]).max(initial=0.0))
    return alike and largest < LARGEST and apart <= AMPLIFIED * max(largest, 1e-3)
