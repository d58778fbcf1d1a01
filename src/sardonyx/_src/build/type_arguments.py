"""Checks of arguments that are types."""

from __future__ import annotations

from sardonyx._src.arguments import type_name
from sardonyx._src.build.attributes import element_type_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Type


def require_dtype(dtype: object) -> DataType:
    """The element type; raises TypeError for another kind of object and InputError for an unknown name."""
    try:
        return element_type_of(dtype)
    except ValueError as error:
        raise InputError(str(error), name="dtype") from None


def require_type_or_none(name: str, type: object) -> None:
    """Raises TypeError for anything but a type of `sardonyx.ir` or None."""
    if type is not None and not isinstance(type, Type):
        raise TypeError(f"{name} must be a type of sardonyx.ir or None; got {type_name(type)}")
