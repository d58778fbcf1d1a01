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
    """Random values by input, and the sizes that were chosen for them.

    sizes: the lengths of dimension variables.
    unknown: the inputs with sizes that have no name; such sizes are 1.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    unknown: Sequence[str] = ()

    def describe(self) -> str:
        """The sizes in words: `N=1, unknown sizes of 'x' = 1`; "" if the model fixes all sizes."""
        parts = [f"{name}={size}" for name, size in self.sizes.items()]
        if self.unknown:
            names = ", ".join(map(repr, self.unknown))
            parts.append(f"unknown sizes of {names} = 1")
        return ", ".join(parts)

    def hint(self) -> str:
        """A hint for an error: random values may be invalid, and how to choose others."""
        names = ", ".join(map(repr, self.values))
        cure = f"pass values for {names}"
        if self.sizes:
            cure = f"choose other sizes with --dim, as --dim {next(iter(self.sizes))}=8, or {cure}"
        sizes = self.describe()
        return f"the inputs are random{f' with {sizes}' if sizes else ''}; {cure}"


def random_feeds(
    ports: Sequence[SessionValue], values: Mapping[str, object], seed: int, sizes: Mapping[str, int]
) -> RandomFeeds:
    """Random values for the inputs without default that `values` lacks: normally distributed floats, small
    integers, booleans.

    `sizes` sets the lengths of dimension variables; other variables are 1.  Raises InputError for a variable that no
    input has.
    """
    require_integer("the seed of random inputs", seed, 0)
    names = variables(ports)
    for name in sizes:
        if name not in names:
            known = (
                f"one of {', '.join(map(repr, sorted(names)))}"
                if names
                else "absent, as the inputs have none"
            )
            raise InputError(f"a dimension variable must be {known}; got {name!r}", name=name)
    lengths = {name: sizes.get(name, 1) for name in names}
    rng = np.random.default_rng(seed)
    missing = [p for p in ports if p.name not in values and not p.has_default]
    return RandomFeeds(
        {p.name: random_value(p.type, p.name, rng, lengths) for p in missing},
        {name: lengths[name] for name in sorted(variables(missing))},
        [p.name for p in missing if has_unknown_size(p.type)],
    )


def has_unknown_size(type: Type | None) -> bool:
    match type:
        case TensorType():
            return any(dim is None for dim in type.shape or ())
        case SequenceType() | OptionalType():
            return has_unknown_size(type.elem)
    return False


def variables(ports: Iterable[SessionValue]) -> set[str]:
    """The dimension variables of inputs: names, and expressions whose variables are no dimension by themselves.

    Those of [N, N+1, 2*M] are N and 2*M, which gets a length as a whole.
    """
    dims = {dim for port in ports for dim in dims_of(port.type)}
    alone = {str(dim) for dim in dims if dim.symbols() == {str(dim)}}
    return alone | {str(dim) for dim in dims if not dim.symbols() <= alone}


def dims_of(type: Type | None) -> Iterator[Expr]:
    match type:
        case TensorType():
            yield from (dim for dim in type.shape or () if isinstance(dim, Expr))
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
            shape = [length(dim, lengths) for dim in type.shape]
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


def length(dim: Dim, lengths: Mapping[str, int]) -> int:
    if dim is None or isinstance(dim, int):
        return 1 if dim is None else dim
    if str(dim) in lengths:
        return lengths[str(dim)]
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
