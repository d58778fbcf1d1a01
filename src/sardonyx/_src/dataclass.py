"""`dataclass` with the meaning of the standard decorator, which generates the methods of a class at their first use.

The standard decorator compiles about six functions for each class, which takes half a millisecond.  A process imports
hundreds of such classes, creates objects of half of them and compares those of few.  Here a class with slots has
placeholders.  The first use of one applies the standard decorator to a copy of the class, and takes over what it
generates; only the initializer, which most classes need and nothing else, has a generator here, and the fields, which
`replace` needs, are made without the methods.
Classes without slots, or with annotations other than of fields, are left to the standard decorator.

`field`, `replace` and the other functions of `dataclasses` work on these classes.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from dataclasses import MISSING, Field
from typing import TYPE_CHECKING, Any

UNUSUAL_ANNOTATIONS = ("ClassVar", "InitVar", "KW_ONLY")
DECLARED = ["__dataclass_fields__", "__dataclass_params__", "__match_args__"]
DECLARED += ["__replace__"] if sys.version_info >= (3, 13) else []
ORDERINGS = ("__lt__", "__le__", "__gt__", "__ge__")
NOT_COPIED = ("__dict__", "__weakref__")  # descriptors of the class that has them

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(written=None, /, **options):
        """Decorates a class as `dataclasses.dataclass` does."""
        if written is not None:
            return dataclasses.dataclass(written)
        return lambda written: decorate(written, options)


def decorate(written: type, options: dict[str, Any]) -> type:
    annotations = written.__annotations__.values()
    is_usual = not any(word in str(note) for note in annotations for word in UNUSUAL_ANNOTATIONS)
    if is_usual and options.get("slots"):
        return with_slots(written, options)
    return dataclasses.dataclass(**options)(written)


def with_slots(written: type, options: dict[str, Any]) -> type:
    """The class with slots for its fields, and a placeholder for each attribute that is generated."""
    fields = written.__annotations__
    body = {name: value for name, value in body_of(written).items() if name not in fields}
    if "__eq__" in body and body.get("__hash__") is None:
        body.pop("__hash__", None)  # Python's own consequence of __eq__; the decorator decides
    body["__slots__"] = new_slots(
        written, [*fields, *(["__weakref__"] if options.get("weakref_slot") else [])]
    )
    if options.get("frozen"):
        body |= {"__setattr__": refuse_assignment, "__delattr__": refuse_deletion}
        body = {"__getstate__": state, "__setstate__": set_state, **body}
    elif options.get("eq", True):
        body.setdefault("__hash__", None)
    for name in generated_names(options):
        body.setdefault(name, Placeholder(name, written, options))
    return new_class(written, body)


def body_of(written: type) -> dict[str, Any]:
    return {name: value for name, value in written.__dict__.items() if name not in NOT_COPIED}


def new_class(written: type, body: dict[str, Any]) -> type:
    cls = type(written)(written.__name__, written.__bases__, body)
    cls.__qualname__ = written.__qualname__
    return cls


def new_slots(written: type, names: list[str]) -> tuple[str, ...]:
    """Those of the names for which no base class has a slot."""
    inherited = {slot for base in written.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    return tuple(name for name in names if name not in inherited)


def generated_names(options: dict[str, Any]) -> list[str]:
    """The attributes that the standard decorator generates, apart from those that all immutable classes share."""
    is_compared = options.get("eq", True)
    return [
        *DECLARED,
        "__init__",
        *(["__repr__"] if options.get("repr", True) else []),
        *(["__eq__"] if is_compared else []),
        *(["__hash__"] if is_compared and options.get("frozen") else []),
        *(ORDERINGS if options.get("order") else []),
    ]


class Placeholder:
    """An attribute of a class that is not generated yet.  To look it up generates it.

    Threads may do so at the same time: each generates the same.
    """

    __slots__ = ("name", "options", "written")

    def __init__(self, name: str, written: type, options: dict[str, Any]) -> None:
        self.name = name
        self.written = written
        self.options = options

    def __get__(self, instance: object, owner: type) -> Any:
        target = next((cls for cls in owner.__mro__ if cls.__dict__.get(self.name) is self), None)
        if target is not None:  # else another thread was faster
            self.generate(target)
        return getattr(owner if instance is None else instance, self.name)

    def generate(self, target: type) -> None:
        is_alone = not any("__dataclass_fields__" in base.__dict__ for base in self.written.__mro__[1:])
        if is_alone and self.name == "__init__" and is_simple(self.written, self.options):
            target.__init__ = initializer(self.written, bool(self.options.get("frozen")))  # type: ignore[misc]
        elif is_alone and self.name == "__dataclass_fields__":  # which `replace` needs
            fields_only = {
                "init": False,
                "repr": False,
                "eq": False,
                "kw_only": self.options.get("kw_only", False),
            }
            setattr(target, self.name, self.apply_standard(fields_only).__dict__[self.name])
        else:
            generated = self.apply_standard(self.options)
            for name, value in [*target.__dict__.items()]:
                if isinstance(value, Placeholder):
                    setattr(target, name, generated.__dict__[name])

    def apply_standard(self, options: dict[str, Any]) -> type:
        copy = new_class(self.written, body_of(self.written))
        copy.__doc__ = self.written.__doc__ or ""  # the decorator would make one of the signature
        generated: type = dataclasses.dataclass(**options)(copy)
        return generated


class Given:
    """The default of a parameter whose value a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


GIVEN = Given()


def is_simple(written: type, options: dict[str, Any]) -> bool:
    """Whether each field is a positional parameter of the initializer."""
    fields = [value for value in written.__dict__.values() if isinstance(value, Field)]
    return (
        not options.get("kw_only")
        and options.get("init", True)
        and all(field.init and field.kw_only is MISSING for field in fields)
    )


def initializer(written: type, is_frozen: bool) -> Callable[..., None]:
    names: dict[str, Any] = {"set_field": object.__setattr__, "GIVEN": GIVEN}
    parameters = ["self"]
    lines = []
    for name in written.__annotations__:
        default, value = default_and_value(name, written.__dict__.get(name, MISSING), names)
        parameters.append(name + default)
        lines.append(f"set_field(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(written, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), names)
    function: Callable[..., None] = names["__init__"]
    function.__qualname__ = f"{written.__qualname__}.__init__"
    function.__annotations__ = {**written.__annotations__, "return": None}
    return function


def default_and_value(name: str, default: object, names: dict[str, Any]) -> tuple[str, str]:
    """The default of a parameter as text, and the value of its field; objects in the texts are added to the names."""
    if isinstance(default, Field):
        if default.default_factory is not MISSING:
            names[f"make_{name}"] = default.default_factory
            return "=GIVEN", f"make_{name}() if {name} is GIVEN else {name}"
        default = default.default
    if default is MISSING:
        return "", name
    names[f"default_{name}"] = default
    return f"=default_{name}", name


def refuse_assignment(instance: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def refuse_deletion(instance: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def state(instance: Any) -> list[Any]:
    return [getattr(instance, field.name) for field in dataclasses.fields(instance)]


def set_state(instance: Any, values: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(instance), values, strict=True):
        object.__setattr__(instance, field.name, value)
