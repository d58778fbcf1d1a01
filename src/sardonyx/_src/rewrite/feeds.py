"""Inputs made up for running a model before and after it is rewritten."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Dim, Expr, evaluate
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import MapType, OptionalType, SequenceType, TensorType, Type
from sardonyx._src.ops.api import RuntimeValue

SIZES = (2, 3, 1, 7)  # of dimension variables, the most telling first
LONG = (64, 512)  # for what takes its input in windows
MOST = 1 << 26  # elements of one input
WORDS = ("sard", "onyx", "agate", "")


class NotMade(Exception):
    """An input of which no value can be made up."""


@dataclass(frozen=True, slots=True)
class Feeds:
    """Values by input name, and how they came about."""

    values: Mapping[str, RuntimeValue]
    what: str


def generated(model: Model, dims: Mapping[str, int]) -> Iterator[Feeds]:
    """Sets of inputs for the model, different in sizes, ranges and values, and the same in every run.

    Every dimension variable has one length in a set; `dims` fixes some.  Raises NotMade for an input of an unknown
    kind.
    """
    inputs = [v for v in model.graph.inputs if v.initializer is None]
    names = sorted({name for v in inputs for name in variables(v.type)} - dims.keys())
    for seed, (lengths, zeros) in enumerate(plans(names, has_free_dims(inputs))):
        rng = np.random.default_rng(seed)
        maker = Maker(rng, {**lengths, **dims}, zeros)
        values = {v.name: maker.value(v.type, v.name) for v in inputs}
        sizes = ", ".join(f"{k}={n}" for k, n in maker.lengths.items() if k)
        yield Feeds(values, f"seed {seed}{', ' + sizes if sizes else ''}")


def plans(names: Sequence[str], has_free: bool) -> Iterator[tuple[dict[str, int], bool]]:
    """Lengths for the variables ("" for dims without name), and whether integers are all zero."""
    if not names and not has_free:
        yield from (({}, zeros) for zeros in (False, False, True))
        return
    every = ["", *names]
    if len(names) > 1:
        yield dict(zip(every, itertools.cycle((2, 3, 7, 1)), strict=False)), False
    for size in SIZES:
        yield dict.fromkeys(every, size), False
    yield {"": 1, **dict(zip(names, itertools.cycle((1, 2)), strict=False))}, False
    for size in SIZES[:3]:
        yield dict.fromkeys(every, size), True
    yield dict.fromkeys(every, 16), False
    for size in LONG:
        for name in every if has_free else names:
            yield {**dict.fromkeys(every, 1), name: size}, False


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes values of given lengths: floats around zero, small integers, either truth value."""

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
                return {word: self.value(type.value, name) for word in WORDS[:2]}
            case MapType():
                return {key: self.value(type.value, name) for key in (0, 1)}
        raise NotMade(f"input {name!r} is of type {type or '?'}")

    def shape(self, type: TensorType, name: str) -> list[int]:
        if type.shape is None:
            raise NotMade(f"input {name!r} states no rank")
        shape = [self.length(dim) for dim in type.shape]
        if max(math.prod(shape), *shape, 0) > MOST:
            raise NotMade(f"input {name!r} of shape {shape} has more than {MOST} elements")
        return shape

    def length(self, dim: Dim) -> int:
        if isinstance(dim, int):
            return dim
        if dim is None:
            return self.lengths.get("", 1)
        found = evaluate(dim, self.lengths)
        return max(found, 0) if found is not None else self.lengths.get("", 1)

    def tensor(self, dtype: DataType, shape: Sequence[int]) -> Array:
        if dtype is DataType.STRING:
            return np.array(WORDS, object)[self.rng.integers(0, len(WORDS), shape)]
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
    """Whether an input has an axis of which nothing is said."""
    types = (v.type for v in inputs)
    return any(isinstance(t, TensorType) and None in (t.shape or ()) for t in types)
