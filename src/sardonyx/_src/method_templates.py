"""Methods of data classes, by copying code with other names.

To compile the text of a method takes 0.1 ms, and a first session needs more than a hundred of them.  Copying code takes a
hundredth of that.  So the text has the names p0, p1 and so on for the fields: it is compiled once for all classes that
have equally many fields of the same kinds, and each class gets a copy of the code with the names of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field
from functools import cache
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import Any


class Given:
    """The default of a parameter whose value a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


GIVEN = Given()


def initializer(
    written: type, given: Mapping[str, object], by_keyword: Collection[str], is_frozen: bool
) -> Callable[..., None]:
    """The initializer of a class.

    given: for each field a `Field`, its default, or MISSING.
    by_keyword: the fields that are passed by keyword only.
    """
    names: dict[str, Any] = {"set_field": object.__setattr__, "GIVEN": GIVEN}
    parameters: dict[bool, list[str]] = {False: ["self"], True: []}
    defaults: dict[bool, dict[str, Any]] = {False: {}, True: {}}
    lines: list[str] = []
    notes: dict[str, Any] = {}
    for i, (name, default) in enumerate(given.items()):
        is_passed, value = value_of(i, default, names)
        if is_passed:
            parameters[name in by_keyword].append(f"p{i}")
            if (passed := default_of(default)) is not MISSING:
                defaults[name in by_keyword][name] = passed
            elif defaults[False] and name not in by_keyword:
                raise TypeError(f"non-default argument {name!r} follows default argument")
            inherited = default.type if isinstance(default, Field) else None
            notes[name] = written.__annotations__.get(name, inherited)
        if value:
            lines.append(f'set_field(self, "p{i}", {value})' if is_frozen else f"self.p{i} = {value}")
    if hasattr(written, "__post_init__"):
        lines.append("self.__post_init__()")
    signature = ", ".join([*parameters[False], *(["*"] if parameters[True] else []), *parameters[True]])
    text = f"def __init__({signature}):\n " + "\n ".join(lines or ["pass"])
    function = define(text, [*given], names, written)
    function.__defaults__ = tuple(defaults[False].values()) or None
    function.__kwdefaults__ = defaults[True] or None  # None: no parameter has one
    function.__annotations__ = {**notes, "return": None}
    return function


def value_of(i: int, default: object, names: dict[str, Any]) -> tuple[bool, str]:
    """Whether field i is a parameter, and what the field becomes, as text, "" for nothing.

    Objects in the text are added to the names.
    """
    if not isinstance(default, Field):
        return True, f"p{i}"
    if default.default_factory is not MISSING:
        names[f"make{i}"] = default.default_factory
        return default.init, f"make{i}() if p{i} is GIVEN else p{i}" if default.init else f"make{i}()"
    if default.init:
        return True, f"p{i}"
    names[f"default{i}"] = default.default
    return False, "" if default.default is MISSING else f"default{i}"


def default_of(default: object) -> object:
    """The default of a parameter, MISSING for none."""
    if not isinstance(default, Field):
        return default
    return default.default if default.default_factory is MISSING else GIVEN


def equality(written: type, compared: Sequence[str]) -> Callable[[Any, Any], bool]:
    """The comparison of a class by the values of these fields."""
    values = [f"({''.join(f'{owner}.p{i},' for i in range(len(compared)))})" for owner in ("self", "other")]
    lines = ["if other.__class__ is self.__class__:", f" return {values[0]} == {values[1]}"]
    lines.append("return NotImplemented")
    return define("def __eq__(self, other):\n " + "\n ".join(lines), compared, {}, written)


def hashing(written: type, hashed: Sequence[str]) -> Callable[[Any], int]:
    """The hash of a class by the values of these fields."""
    values = "".join(f"self.p{i}," for i in range(len(hashed)))
    return define(f"def __hash__(self):\n return hash(({values}))", hashed, {}, written)


def representation(written: type, shown: Sequence[str]) -> Callable[[Any], str]:
    """The text of objects of a class, with these fields."""

    def represent(self: object) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in shown])
        return f"{self.__class__.__qualname__}({values})"

    represent.__name__ = "__repr__"
    represent.__qualname__ = f"{written.__qualname__}.__repr__"
    return recursive_repr()(represent)


def define(text: str, fields: Sequence[str], names: dict[str, Any], written: type) -> FunctionType:
    """The method that a text defines for a class.

    fields: the names for p0, p1 and so on.  names: the global names of the text.
    """
    code = compile_method(text)
    actual = {f"p{i}": name for i, name in enumerate(fields)}
    renamed = code.replace(
        co_varnames=tuple([actual.get(name, name) for name in code.co_varnames]),
        co_names=tuple([actual.get(name, name) for name in code.co_names]),
        co_consts=tuple([actual.get(value, value) for value in code.co_consts]),
        co_qualname=f"{written.__qualname__}.{code.co_name}",
    )
    return FunctionType(renamed, names)


@cache
def compile_method(text: str) -> CodeType:
    module = compile(text, "<generated>", "exec")
    return next(value for value in module.co_consts if isinstance(value, CodeType))
