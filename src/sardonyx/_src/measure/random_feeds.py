"""Random model inputs in the declared shapes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sardonyx._src.arguments import require_integer
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, OptionalType, SequenceType, TensorType, Type
from sardonyx._src.ir.dims import Dim, Expr, evaluate
from sardonyx._src.runtime.session.session import SessionValue

MAX_RANDOM_ELEMENTS = 1 << 30  # elements of one input


@dataclass(frozen=True)
class RandomFeeds:
    """Random values by input, and the lengths that were chosen for their open sizes (`open_sizes`)."""

    values: Mapping[str, object] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    def describe(self) -> str:
        """The sizes in words: `N=1, x:1=8`; "" if the model fixes all sizes."""
        return ", ".join(f"{name}={size}" for name, size in self.sizes.items())

    def hint(self) -> str:
        """A hint for an error: random values may be invalid, and how to choose others."""
        names = ", ".join(map(repr, self.values))
        cure = f"pass values for {names}"
        if self.sizes:
            cure = f"choose other sizes with --dim, as --dim {next(iter(self.sizes))}=8, or {cure}"
        sizes = self.describe()
        return f"the inputs are random{f' with {sizes}' if sizes else ''}; {cure}"


def random_feeds(
    ports: Sequence[SessionValue],
    values: Mapping[str, object],
    seed: int,
    sizes: Mapping[str, int],
    fallback: Mapping[str, int] | None = None,
) -> RandomFeeds:
    """Random values for the inputs without default that `values` lacks: normally distributed floats, small
    integers, booleans.

    sizes: lengths of open sizes, by the names of `open_sizes`.
    fallback: lengths of those that `sizes` lacks; of others 1.

    Raises InputError for a size that no input has.
    """
    require_integer("the seed of random inputs", seed, 0)
    names = open_sizes(ports)
    for name in sizes:
        if name not in names:
            known = (
                f"one of {', '.join(map(repr, sorted(names)))}"
                if names
                else "absent, as the inputs have none"
            )
            raise InputError(f"a dimension variable must be {known}; got {name!r}", name=name)
    lengths = {**dict.fromkeys(names, 1), **(fallback or {}), **sizes}
    rng = np.random.default_rng(seed)
    missing = [p for p in ports if p.name not in values and not p.has_default]
    return RandomFeeds(
        {p.name: random_value(p.type, p.name, rng, lengths) for p in missing},
        {name: lengths[name] for name in sorted(open_sizes(missing))},
    )


def open_sizes(ports: Iterable[SessionValue]) -> set[str]:
    """The names of the sizes that inputs leave open: dimension variables, expressions whose variables are no dimension by
    themselves, and `INPUT:AXIS` for sizes without a name.

    Those of [N, N+1, 2*M] are N and 2*M, which gets a length as a whole.
    """
    dims = [(size_name(port.name, axis), dim) for port in ports for axis, dim in dims_of(port.type)]
    expressions = {dim for _, dim in dims if isinstance(dim, Expr)}
    alone = {str(dim) for dim in expressions if dim.symbols() == {str(dim)}}
    others = {str(dim) for dim in expressions if not dim.symbols() <= alone}
    return alone | others | {name for name, dim in dims if dim is None}


def size_name(input_name: str, axis: int) -> str:
    """The name of a size for which the model has none."""
    return f"{input_name}:{axis}"


def dims_of(type: Type | None) -> Iterator[tuple[int, Dim]]:
    """The axes and dims of a tensor, or of the tensors that a sequence or an optional holds."""
    match type:
        case TensorType():
            yield from enumerate(type.shape or ())
        case SequenceType() | OptionalType():
            yield from dims_of(type.elem)


def random_value(
    type: Type | None, name: str, rng: np.random.Generator, lengths: Mapping[str, int]
) -> object:
    match type:
        case TensorType():
            if type.shape is None:
                raise InputError(
                    f"input {name!r} must have a rank to get a random value; got none; pass a value",
                    name=name,
                )
            shape = [length_of(dim, size_name(name, i), lengths) for i, dim in enumerate(type.shape)]
            if math.prod(shape) > MAX_RANDOM_ELEMENTS:
                what = (
                    f"input {name!r} must have at most {MAX_RANDOM_ELEMENTS} elements to get a random value"
                )
                what += f"; got shape {shape}; pass a value"
                raise InputError(what, name=name)
            return random_tensor(type.dtype, shape, rng)
        case SequenceType():
            return [random_value(type.elem, name, rng, lengths)]
        case OptionalType():
            return random_value(type.elem, name, rng, lengths)
    raise InputError(
        f"input {name!r} must be a tensor, a sequence or an optional to get a random value; got {type}; pass a value",
        name=name,
    )


def length_of(dim: Dim, name: str, lengths: Mapping[str, int]) -> int:
    """The length of a dim; name: of the size if it has none."""
    if isinstance(dim, int):
        return dim
    if dim is None or str(dim) in lengths:
        return lengths[name if dim is None else str(dim)]
    value = evaluate(dim, lengths)
    return 1 if value is None else max(value, 0)


def random_tensor(dtype: DataType, shape: Sequence[int], rng: np.random.Generator) -> Array:
    if dtype is DataType.STRING:
        words = np.array(["sard", "onyx", "agate", ""], object)
        return words[rng.integers(0, len(words), shape)]
    if dtype is DataType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        top = min(10, 2 ** (dtype.bits - (1 if dtype.is_signed else 0)))
        return rng.integers(0, top, shape).astype(dtype.numpy)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if dtype.is_complex else values).astype(dtype.numpy)
