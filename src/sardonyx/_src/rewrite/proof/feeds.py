"""Generated inputs for running a model before and after a rewrite."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, MapType, Model, OptionalType, SequenceType, TensorType, Type, Value
from sardonyx._src.ir.dims import Dim, Expr, evaluate
from sardonyx._src.ops.api import RuntimeValue

VARIABLE_LENGTHS = (2, 3, 1, 7)  # tried for dimension variables, the most discriminating first
LONG_LENGTHS = (64, 512)  # for models that process their input in windows
MAX_INPUT_ELEMENTS = 1 << 26  # elements of one input
SAMPLE_STRINGS = ("sard", "onyx", "agate", "")


class UnsupportedInput(Exception):
    """No value can be generated for an input of this type."""


@dataclass(frozen=True, slots=True)
class Feeds:
    """Values by input name, and how they were generated."""

    values: Mapping[str, RuntimeValue]
    description: str


def generate_feeds(model: Model, dims: Mapping[str, int]) -> Iterator[Feeds]:
    """Generate feeds that vary in lengths, ranges and values, and are the same in every run.

    A dimension variable has one length per set of feeds; `dims` fixes some.  Raises UnsupportedInput for an input of
    an unsupported type.
    """
    inputs = [v for v in model.graph.inputs if v.initializer is None]
    names = sorted({name for v in inputs for name in variables(v.type)} - dims.keys())
    for seed, (lengths, zeros) in enumerate(length_plans(names, has_free_dims(inputs))):
        rng = np.random.default_rng(seed)
        generator = ValueGenerator(rng, {**lengths, **dims}, zeros)
        values = {v.name: generator.value(v.type, v.name) for v in inputs}
        sizes = ", ".join(f"{k}={n}" for k, n in generator.lengths.items() if k)
        yield Feeds(values, f"seed {seed}{', ' + sizes if sizes else ''}")


def length_plans(names: Sequence[str], has_free: bool) -> Iterator[tuple[dict[str, int], bool]]:
    """Lengths of the variables ("" for unnamed dims), and whether all integers are zero."""
    if not names and not has_free:
        yield from (({}, zeros) for zeros in (False, False, True))
        return
    every = ["", *names]
    if len(names) > 1:
        yield dict(zip(every, itertools.cycle((2, 3, 7, 1)), strict=False)), False
    for size in VARIABLE_LENGTHS:
        yield dict.fromkeys(every, size), False
    yield {"": 1, **dict(zip(names, itertools.cycle((1, 2)), strict=False))}, False
    for size in VARIABLE_LENGTHS[:3]:
        yield dict.fromkeys(every, size), True
    yield dict.fromkeys(every, 16), False
    for size in LONG_LENGTHS:
        for name in every if has_free else names:
            yield {**dict.fromkeys(every, 1), name: size}, False


@dataclass(frozen=True, slots=True)
class ValueGenerator:
    """Generates values of given lengths: normally distributed floats, small integers, both booleans."""

    rng: np.random.Generator
    lengths: Mapping[str, int]
    zeros: bool

    def value(self, type: Type | None, name: str) -> RuntimeValue:
        match type:
            case TensorType():
                return self.tensor(type.dtype, self.shape(type, name))
            case SequenceType():
                return [self.value(type.elem, name) for _ in range(2)]
            case OptionalType():
                return self.value(type.elem, name)
            case MapType(key=DataType.STRING):
                return {word: self.value(type.value, name) for word in SAMPLE_STRINGS[:2]}
            case MapType():
                return {key: self.value(type.value, name) for key in (0, 1)}
        raise UnsupportedInput(f"input {name!r} has unsupported type {type or '?'}")

    def shape(self, type: TensorType, name: str) -> list[int]:
        if type.shape is None:
            raise UnsupportedInput(f"input {name!r} must have a known rank")
        shape = [self.length(dim) for dim in type.shape]
        if max(math.prod(shape), *shape, 0) > MAX_INPUT_ELEMENTS:
            raise UnsupportedInput(
                f"input {name!r} of shape {shape} must have at most {MAX_INPUT_ELEMENTS} elements"
            )
        return shape

    def length(self, dim: Dim) -> int:
        if isinstance(dim, int):
            return dim
        if dim is None:
            return self.lengths.get("", 1)
        size = evaluate(dim, self.lengths)
        return max(size, 0) if size is not None else self.lengths.get("", 1)

    def tensor(self, dtype: DataType, shape: Sequence[int]) -> Array:
        if dtype is DataType.STRING:
            return np.array(SAMPLE_STRINGS, object)[self.rng.integers(0, len(SAMPLE_STRINGS), shape)]
        if dtype is DataType.BOOL:
            return self.rng.integers(0, 2, shape).astype(bool)
        if dtype.is_integer:
            top = min(4, 2 ** (dtype.bits - (1 if dtype.is_signed else 0)))
            return self.rng.integers(0, 1 if self.zeros else top, shape).astype(dtype.numpy)
        values = self.rng.standard_normal(shape)
        if dtype.is_complex:
            return (values + 1j * self.rng.standard_normal(shape)).astype(dtype.numpy)
        return values.astype(dtype.numpy)


def variables(type: Type | None) -> set[str]:
    """The names of dimension variables in a type."""
    match type:
        case TensorType():
            return {n for dim in type.shape or () if isinstance(dim, Expr) for n in dim.symbols()}
        case SequenceType() | OptionalType():
            return variables(type.elem)
        case MapType():
            return variables(type.value)
    return set()


def has_free_dims(inputs: Sequence[Value]) -> bool:
    """Whether an input has an axis of unknown, unnamed length."""
    types = (v.type for v in inputs)
    return any(isinstance(t, TensorType) and None in (t.shape or ()) for t in types)
