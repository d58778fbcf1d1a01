"""What a caller feeds, as run-time values: converted where nothing is ambiguous, checked before anything runs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array, SparseTensor
from sardonyx._src.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.dims import Lengths


def checked(
    feeds: Mapping[str, object], inputs: Sequence[Value], lengths: Lengths
) -> dict[str, RuntimeValue]:
    """The feeds as run-time values by name.

    Raises InputError for a name that is unknown or missing and for a value whose type, rank or sizes are not those
    that the model declares; `lengths` learns what each dimension variable stands for.
    """
    if not isinstance(feeds, Mapping):
        raise InputError(f"feeds are a dict from input name to value, not {kind(feeds)}", name="feeds")
    known = {v.name: v for v in inputs}
    for name in feeds:
        if name not in known:
            raise InputError(f"the model has no input {name!r}{suggestion(name, known)}", name=name)
    missing = [v.name for v in inputs if v.name not in feeds and v.initializer is None and not is_optional(v)]
    if missing:
        raise InputError(
            f"no value for input {described(known[missing[0]])}{others(missing)}", name=missing[0]
        )
    result = {name: converted(value, known[name].type, name) for name, value in feeds.items()}
    for name, value in result.items():
        lengths.hold(value, known[name].type, f"input {name!r}")
    lengths.settle()
    return result


def is_optional(value: Value) -> bool:
    return isinstance(value.type, OptionalType)


def suggestion(name: str, known: Iterable[str]) -> str:
    names = list(known)
    close = difflib.get_close_matches(name, names, 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; it has {', '.join(map(repr, names[:10]))}" if names else "; it has none"


def described(value: Value) -> str:
    return f"{value.name!r}" + (f" of type {value.type}" if value.type is not None else "")


def others(missing: Sequence[str]) -> str:
    return f" (and none for {', '.join(map(repr, missing[1:]))})" if len(missing) > 1 else ""


def converted(value: object, type: Type | None, name: str) -> RuntimeValue:
    """A fed value as the run-time value of an input of this type."""
    match type:
        case None | OpaqueType():
            return tensor(value, None, name) if isinstance(value, np.ndarray) else cast(RuntimeValue, value)
        case TensorType():
            return tensor(value, type.dtype, name)
        case SparseTensorType():
            if not isinstance(value, SparseTensor):
                raise InputError(f"input {name!r} takes a SparseTensor, not {kind(value)}", name=name)
            return value
        case SequenceType():
            if not isinstance(value, list | tuple):
                raise InputError(
                    f"input {name!r} is of type {type} and takes a list, not {kind(value)}", name=name
                )
            return [converted(v, type.elem, f"{name}[{i}]") for i, v in enumerate(value)]
        case OptionalType():
            return None if value is None else converted(value, type.elem, name)
        case MapType():
            return mapping(value, type, name)


def mapping(value: object, type: MapType, name: str) -> RuntimeValue:
    if not isinstance(value, Mapping):
        raise InputError(f"input {name!r} is of type {type} and takes a dict, not {kind(value)}", name=name)
    wanted = str if type.key is DataType.STRING else int
    result: dict[object, RuntimeValue] = {}
    for key, one in value.items():
        plain = key.item() if isinstance(key, np.generic) else key
        if not isinstance(plain, wanted):
            raise InputError(
                f"input {name!r} takes keys of {type.key.text}, not {kind(key)} {key!r}", name=name
            )
        result[plain] = converted(one, type.value, f"{name}[{plain!r}]")
    return cast(RuntimeValue, result)


def tensor(value: object, dtype: DataType | None, name: str) -> Array:
    """An array of the element type; Python numbers and lists take it on, arrays must have it.

    It is a read-only view: what a caller gives is not written to.
    """
    array = as_array(value, dtype, name).view()
    if dtype is DataType.STRING or (dtype is None and array.dtype.kind in "OSU"):
        array = texts(array, name)
    elif dtype is not None and array.dtype != dtype.numpy:
        cure = f"pass x.astype({dtype.numpy.name!r}) if that is meant"
        raise InputError(f"input {name!r} takes {dtype.text}, and is given {array.dtype}; {cure}", name=name)
    array.flags.writeable = False
    return array


def as_array(value: object, dtype: DataType | None, name: str) -> Array:
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    if isinstance(value, bool | int | float | complex | str | bytes | list | tuple):
        return literal(value, dtype, name)
    try:
        if hasattr(value, "__array__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return cast(Array, np.from_dlpack(value))
    except (
        TypeError,
        ValueError,
        BufferError,
        RuntimeError,
    ) as error:  # whatever the other library refuses with
        raise InputError(f"input {name!r}: {kind(value)} gives no array: {error}", name=name) from error
    raise InputError(f"input {name!r} takes an array, not {kind(value)}", name=name)


def literal(value: object, dtype: DataType | None, name: str) -> Array:
    """Python numbers as an array of the element type, where they have a place in it."""
    try:
        natural = np.asarray(value, dtype=object if dtype is DataType.STRING else None)
    except (ValueError, OverflowError) as error:
        raise InputError(f"input {name!r}: {error}", name=name) from None
    if dtype is None or dtype is DataType.STRING or natural.size == 0:
        return natural if dtype in (None, DataType.STRING) else natural.astype(wanted_dtype(dtype))
    kinds = "b" if dtype is DataType.BOOL else "iufc" if dtype.is_complex else "iuf"
    if natural.dtype.kind in kinds:
        with np.errstate(all="ignore"):
            result = natural.astype(dtype.numpy)
        if not is_lossy(natural, result, dtype):
            return result
    raise InputError(
        f"input {name!r} takes {dtype.text}, and {brief(value)} is not all of that type", name=name
    )


def is_lossy(natural: Array, result: Array, dtype: DataType) -> bool:
    """Whether a number has no place in the type: for floats, one that is too large; rounding is no loss."""
    if dtype.is_integer:
        return not np.array_equal(result.astype(object), natural.astype(object))
    wide = result.astype(np.complex128 if dtype.is_complex else np.float64)
    return bool((np.isfinite(natural) & ~np.isfinite(wide)).any())


def wanted_dtype(dtype: DataType | None) -> np.dtype[np.generic]:
    assert dtype is not None, "an element type is asked for where none is declared"
    return dtype.numpy


def texts(array: Array, name: str) -> Array:
    """A string tensor as an object array of str."""
    if array.dtype.kind not in "OSUT":
        raise InputError(f"input {name!r} takes strings, and is given {array.dtype}", name=name)
    result = np.empty(array.size, object)
    for i, one in enumerate(array.reshape(-1).tolist()):
        if not isinstance(one, str | bytes):
            raise InputError(
                f"input {name!r} takes strings, and element {i} is {kind(one)} {one!r}", name=name
            )
        result[i] = one if isinstance(one, str) else one.decode("utf-8", "surrogateescape")
    return result.reshape(array.shape)


def kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
