"""Checks of feeds before a run, and their conversion to run-time values where that is unambiguous."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, TypeAlias
from typing import cast as assume

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.ir import (
    Array,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SparseTensorType,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.types import OpaqueType
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
from sardonyx._src.runtime.declarations.declared_sizes import Declaration
from sardonyx._src.runtime.feeds.foreign_tensors import foreign_array
from sardonyx._src.runtime.feeds.tables import feeds_of_table, is_table
from sardonyx._src.suggestions import suggest

Cast: TypeAlias = Literal["no", "safe", "same_kind"]
CASTS: tuple[Cast, ...] = ("no", "safe", "same_kind")


def check_feeds(
    feeds: object, inputs: Mapping[str, Declaration], dims: DeclaredDims, cast: Cast = "no"
) -> dict[str, RuntimeValue]:
    """The feeds as run-time values by name.

    Raises InputError for a name that is unknown or missing, and for a value of another type or rank than declared.
    dims: receives the lengths of dimension variables; its shape policy decides about sizes.
    cast: the conversions of element types that are allowed, in the terms of `numpy.can_cast`.
    """
    if is_table(feeds):
        with foreign_errors("feeds"):
            feeds = feeds_of_table(feeds, inputs)
    if not isinstance(feeds, Mapping):
        raise InputError(
            f"feeds must be a dict from input names to values, or a table; got {describe_kind(feeds)}",
            name="feeds",
        )
    with foreign_errors("feeds"):
        feeds = dict(feeds.items())
    for name in feeds:
        if name not in inputs:
            hint = suggest(str(name), inputs, "inputs")
            raise InputError(f"the model has no input {name!r}{hint}", name=name)
    if len(feeds) < len(inputs):
        refuse_missing([d.value for name, d in inputs.items() if name not in feeds])
    result: dict[str, RuntimeValue] = {}
    for name, value in feeds.items():
        with foreign_errors(name):
            result[name] = convert_feed(value, inputs[name].value.type, name, cast)
    dims.check_inputs([(value, inputs[name]) for name, value in result.items()])
    return result


@contextmanager
def foreign_errors(name: str) -> Iterator[None]:
    """Converts any exception that objects of other libraries raise in the block to InputError."""
    try:
        yield
    except (SardonyxError, MemoryError):
        raise
    except Exception as error:
        what = f"reading it raises {type(error).__name__}: {error}"
        raise InputError(f"input {name!r} must be a value that can be read; {what}", name=name) from error


def refuse_missing(not_fed: Sequence[Value]) -> None:
    """Raises InputError if an input that is not fed has no default."""
    missing = [value for value in not_fed if value.initializer is None]
    if missing:
        first, names = missing[0], [value.name for value in missing]
        cure = "; feed None for an empty optional" if isinstance(first.type, OptionalType) else ""
        raise InputError(
            f"no value for input {describe_input(first)}{list_others(names)}{cure}", name=first.name
        )


def describe_input(value: Value) -> str:
    return f"{value.name!r}" + (f" of type {value.type}" if value.type is not None else "")


def list_others(missing: Sequence[str]) -> str:
    return f" (and none for {', '.join(map(repr, missing[1:]))})" if len(missing) > 1 else ""


def convert_feed(value: object, type: Type | None, name: str, cast: Cast = "no") -> RuntimeValue:
    """A fed value as the run-time value of an input of this type."""
    match type:
        case None | OpaqueType():
            return (
                convert_tensor(value, None, name)
                if isinstance(value, np.ndarray)
                else assume(RuntimeValue, value)
            )
        case TensorType():
            return convert_tensor(value, type.dtype, name, cast)
        case SparseTensorType():
            if not isinstance(value, SparseTensor):
                raise InputError(
                    f"input {name!r} must be a SparseTensor; got {describe_kind(value)}", name=name
                )
            return value
        case SequenceType():
            if not isinstance(value, list | tuple):
                raise InputError(
                    f"input {name!r} of type {type} must be a list; got {describe_kind(value)}",
                    name=name,
                )
            return [convert_feed(v, type.elem, f"{name}[{i}]", cast) for i, v in enumerate(value)]
        case OptionalType():
            return None if value is None else convert_feed(value, type.elem, name, cast)
        case MapType():
            return convert_mapping(value, type, name)


def convert_mapping(value: object, type: MapType, name: str) -> RuntimeValue:
    if not isinstance(value, Mapping):
        raise InputError(
            f"input {name!r} of type {type} must be a dict; got {describe_kind(value)}", name=name
        )
    key_type = str if type.key is DataType.STRING else int
    result: dict[object, RuntimeValue] = {}
    for key, element in value.items():
        plain = key.item() if isinstance(key, np.generic) else key
        if not isinstance(plain, key_type):
            raise InputError(
                f"keys of input {name!r} must be {type.key.text}; got {describe_kind(key)} {key!r}", name=name
            )
        result[plain] = convert_feed(element, type.value, f"{name}[{plain!r}]")
    return assume(RuntimeValue, result)


def convert_tensor(value: object, dtype: DataType | None, name: str, cast: Cast = "no") -> Array:
    """A fed value as an array of the element type.

    An array must have this type, or one that `cast` converts; Python numbers and lists are converted.  The result is a
    read-only view, since feeds are never written to.  An array in the other byte order is converted, because kernels read
    memory in the byte order of the machine.
    """
    array = as_array(value, dtype, name).view()
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if dtype is DataType.STRING or (dtype is None and array.dtype.kind in "OSU"):
        array = convert_strings(array, name)
    elif dtype is not None and array.dtype != dtype.numpy and not is_castable(array, dtype, cast):
        refuse_gaps(array, dtype, name)
        cure = f"pass x.astype({dtype.numpy.name!r}) to convert it{cast_hint(array, dtype)}"
        raise InputError(f"input {name!r} must be {dtype.text}; got {array.dtype}: {cure}", name=name)
    elif dtype is not None and array.dtype != dtype.numpy:
        array = array.astype(dtype.numpy)
    elif dtype is not None and array.dtype is not dtype.numpy:
        # Equal types may be several objects, as after pickling; the code that calls kernels compares them by identity.
        array = array.view(dtype.numpy)
    array.flags.writeable = False
    return array


def refuse_gaps(array: Array, dtype: DataType, name: str) -> None:
    """Raises InputError for missing values, as in columns with gaps: a conversion would turn them into numbers."""
    if array.dtype.kind == "O":
        missing = [is_missing(element) for element in array.reshape(-1).tolist()]
    elif array.dtype.kind == "f" and not (dtype.is_float or dtype.is_complex):
        missing = np.isnan(array.reshape(-1)).tolist()
    else:
        return
    if any(missing):
        i = missing.index(True)
        fill = "float('nan')" if dtype.is_float else "False" if dtype is DataType.BOOL else "0"
        raise InputError(
            f"input {name!r} must be {dtype.text}; element {i} is missing ({array.reshape(-1).tolist()[i]!r}): "
            f"replace missing values first, as by column.fillna({fill}).astype({dtype.numpy.name!r})",
            name=name,
        )


def is_castable(array: Array, dtype: DataType, cast: Cast) -> bool:
    """Whether `cast` allows the conversion, as NumPy decides it."""
    return cast != "no" and array.dtype.kind in "biufcV" and bool(np.can_cast(array.dtype, dtype.numpy, cast))


def cast_hint(array: Array, dtype: DataType) -> str:
    """The option that would convert an array."""
    choice = next((c for c in CASTS[1:] if is_castable(array, dtype, c)), None)
    return f", or cast={choice!r}" if choice is not None else ""


def has_masked_elements(value: object) -> bool:
    """Whether a value is a masked array with an element masked.

    `numpy.ma` is looked up, not imported: as long as nothing has imported it, there are no such arrays; and a fork during an
    import would leave the module's import lock held in the child.  While another thread imports the module, it may not have
    the class yet.
    """
    masked_array = getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())
    return isinstance(value, masked_array) and bool(np.any(value.mask))


def as_array(value: object, dtype: DataType | None, name: str) -> Array:
    if isinstance(value, np.ndarray | np.generic):
        if has_masked_elements(value):
            cure = "pass x.filled(value) with the value that stands for them"
            raise InputError(f"input {name!r} must have no masked elements: {cure}", name=name)
        return np.asarray(value)
    if isinstance(value, bool | int | float | complex | str | bytes | list | tuple):
        return convert_literal(value, dtype, name)
    try:
        value = foreign_array(value, name)
        if hasattr(value, "__array__"):
            return np.asarray(value)
        if hasattr(value, "__dlpack__"):
            return assume(Array, np.from_dlpack(value))
    except SardonyxError:
        raise
    except Exception as error:  # another library may raise anything
        raise InputError(
            f"input {name!r} must be an array; got {describe_kind(value)}, which does not convert: {error}",
            name=name,
        ) from error
    raise InputError(f"input {name!r} must be an array; got {describe_kind(value)}", name=name)


def convert_literal(value: object, dtype: DataType | None, name: str) -> Array:
    """Python numbers as an array of the element type, if it can represent them."""
    try:
        natural = np.asarray(value, dtype=object if dtype is DataType.STRING else None)
    except Exception as error:  # noqa: BLE001  # an element of another library may raise anything
        raise InputError(f"input {name!r}: {type(error).__name__}: {error}", name=name) from None
    if dtype is None or dtype is DataType.STRING or natural.size == 0:
        return natural if dtype in (None, DataType.STRING) else natural.astype(numpy_dtype(dtype))
    kinds = "b" if dtype is DataType.BOOL else "iufc" if dtype.is_complex else "iuf"
    if natural.dtype.kind in kinds:
        with np.errstate(all="ignore"):
            result = natural.astype(dtype.numpy)
        if not is_lossy(natural, result, dtype):
            return result
    raise InputError(f"input {name!r} must be {dtype.text}; got {abbreviate(value)}", name=name)


def is_lossy(natural: Array, result: Array, dtype: DataType) -> bool:
    """Whether a number is out of range of the element type.  Rounding of floats is accepted.

    natural: the numbers in the type that NumPy chooses for them.  result: the same numbers in the element type.
    """
    if dtype.is_integer:
        return not np.array_equal(result.astype(object), natural.astype(object))
    wide = result.astype(np.complex128 if dtype.is_complex else np.float64)
    return bool((np.isfinite(natural) & ~np.isfinite(wide)).any())


def numpy_dtype(dtype: DataType | None) -> np.dtype[np.generic]:
    assert dtype is not None, "the element type must be declared"
    return dtype.numpy


def convert_strings(array: Array, name: str) -> Array:
    """A string tensor as an object array of str."""
    if array.dtype.kind not in "OSUT":
        raise InputError(f"input {name!r} must be strings; got {array.dtype}", name=name)
    result = np.empty(array.size, object)
    for i, element in enumerate(array.reshape(-1).tolist()):
        if is_missing(element):
            cure = "replace missing strings first, as by column.fillna('')"
            raise InputError(
                f"input {name!r} must be strings; element {i} is missing ({element!r}): {cure}", name=name
            )
        if not isinstance(element, str | bytes):
            raise InputError(
                f"input {name!r} must be strings; got {describe_kind(element)} {abbreviate(element)} as element {i}",
                name=name,
            )
        result[i] = element if isinstance(element, str) else element.decode("utf-8", "surrogateescape")
    return result.reshape(array.shape)


def is_missing(element: object) -> bool:
    """Whether an element of a column stands for a missing value: None, NaN, or the NA of pandas."""
    return (
        element is None
        or (isinstance(element, float) and element != element)
        or type(element).__name__ == "NAType"
    )


def describe_kind(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def abbreviate(value: object) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return "deeply nested lists"
    except Exception as error:  # noqa: BLE001  # a foreign object may raise anything
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."
