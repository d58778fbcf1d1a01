"""Checks of the arguments of public functions.

An argument of a wrong Python type is a TypeError, as it is everywhere in Python; a value that is not accepted is an
InputError, whose `name` is the argument.  Both say what the argument must be, and what it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from sardonyx._src.errors import InputError

T = TypeVar("T")
Kinds = type[T] | tuple[type[T], ...]
MAX_SHOWN = 200  # characters of a value that a message shows


def require_type(name: str, value: object, kinds: Kinds[Any], expected: str) -> None:
    """Raises TypeError unless the value has one of the types.  expected: what the argument must be, as "a str"."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} must be {expected}; got {type_name(value)}")


def require_text(name: str, value: object) -> None:
    """Raises TypeError unless the value is a str."""
    require_type(name, value, str, "a str")


def require_flag(name: str, value: object) -> None:
    """Raises TypeError unless the value is True or False."""
    require_type(name, value, (bool, np.bool_), "True or False")


def require_integer(
    name: str, value: object, low: int | None = None, high: int | None = None, *, optional: bool = False
) -> None:
    """Raises TypeError unless the value is an integer, or None if it is optional, and InputError outside of the bounds."""
    if optional and value is None:
        return
    if not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer{' or None' * optional}; got {type_name(value)}")
    if (low is not None and value < low) or (high is not None and value > high):
        bound = (
            f"at least {low}" if high is None else f"at most {high}" if low is None else f"in {low} to {high}"
        )
        raise InputError(f"{name} must be {bound}; got {shown(value)}", name=name)


def require_number(name: str, value: object, *, optional: bool = False) -> None:
    """Raises TypeError unless the value is a real number, or None if it is optional, and InputError for NaN."""
    if optional and value is None:
        return
    if not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name} must be a number{' or None' * optional}; got {type_name(value)}")
    if value != value:
        raise InputError(f"{name} must be a number; got NaN", name=name)


def require_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raises InputError for anything but one of these strings."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(
            f"{name} must be one of {', '.join(map(repr, choices))}; got {shown(value)}", name=name
        )


def require_path(name: str, value: object) -> None:
    """Raises TypeError unless the value is a path of type str, and InputError for a path that no file can have."""
    require_type(name, value, (str, os.PathLike), "a path (str or os.PathLike)")
    assert isinstance(value, str | os.PathLike), "a path has been checked"
    path = os.fspath(value)
    require_type(name, path, str, "a path of type str, not bytes")
    try:
        if b"\0" in os.fsencode(path):
            raise ValueError("embedded null byte")
    except ValueError as error:  # raised above, or by fsencode for surrogates that encode no bytes
        raise path_error(path, error, name) from None


def path_error(path: str, error: ValueError, name: str = "path") -> InputError:
    """The error for a path that no file can have."""
    return InputError(
        f"{name} must be a path that the system can represent; got {path!r}: {error}", name=name
    )


def items_of(name: str, values: object, kinds: Kinds[T], expected: str) -> tuple[T, ...]:
    """The elements of an iterable; raises TypeError for anything else, and for elements of other types.

    A string is not accepted as the list of its characters.  expected: what the elements must be, as "values".
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list of {expected}; got {type_name(values)}")
    items = tuple(values)
    for item in items:
        if not isinstance(item, kinds):
            raise TypeError(f"{name} must be a list of {expected}; an element is {type_name(item)}")
    return items


def texts_of(name: str, values: object) -> tuple[str, ...]:
    """The elements of an iterable of strings; raises TypeError for anything else."""
    return items_of(name, values, str, "str")


def require_mapping(name: str, values: object, keys: Kinds[Any], items: Kinds[Any], expected: str) -> None:
    """Raises TypeError unless the values are a mapping with keys and items of these types.

    expected: what keys and items must be, as "names to lengths".
    """
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must map {expected}; got {type_name(values)}")
    for key, item in values.items():
        if not isinstance(key, keys) or not isinstance(item, items):
            got = f"{type_name(key)} to {type_name(item)}"
            raise TypeError(f"{name} must map {expected}; an entry maps {got}")


def type_name(value: object) -> str:
    """The type of a value, as messages name it."""
    return (
        "None"
        if value is None
        else f"the type {value.__name__}"
        if isinstance(value, type)
        else type(value).__name__
    )


def shown(value: object) -> str:
    """A value as text of limited length."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 (whatever a foreign object's repr raises)
        return type_name(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
