"""`dataclass` with the meaning of the standard decorator, which generates the methods of a class at their first use.

The standard decorator compiles about six functions for each class, which takes half a millisecond.  A process imports
hundreds of such classes, creates objects of half of them and compares those of few.  Here a class with slots has
a placeholder for each attribute that is generated, and the first use of one replaces it.  `__init__`, `__eq__`, `__hash__` and
`__repr__`, which is all that most classes need, are generated from templates (`method_templates.py`); `__dataclass_fields__`,
which `replace` needs, is made without the methods.  For any other attribute the standard decorator is applied to a copy of the
class, and all that it generates is taken over.

The options with slots are frozen, eq, order, repr, kw_only and weakref_slot; other options are left to the standard decorator.
Classes without slots, or with annotations other than of fields and class variables, are left to the standard decorator.

`field`, `replace` and the other functions of `dataclasses` work on these classes.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field
from types import MethodType
from typing import TYPE_CHECKING, Any

from sardonyx._src.method_templates import equality, hashing, initializer, representation

SUPPORTED = {"slots", "frozen", "eq", "order", "repr", "kw_only", "weakref_slot"}
UNUSUAL_ANNOTATIONS = ("ClassVar", "InitVar", "KW_ONLY")
CLASS_VARIABLE = "ClassVar["  # how annotations of attributes begin that are no fields
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
    notes = [str(note).removeprefix(CLASS_VARIABLE) for note in written.__annotations__.values()]
    is_usual = not any(word in note for note in notes for word in UNUSUAL_ANNOTATIONS)
    if is_usual and options.get("slots") and options.keys() <= SUPPORTED:
        return with_slots(written, options)
    return dataclasses.dataclass(**options)(written)


def with_slots(written: type, options: dict[str, Any]) -> type:
    """The class with slots for its fields, and a placeholder for each attribute that is generated."""
    fields = field_names(written)
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


def field_names(written: type) -> list[str]:
    """The annotated attributes of a class that are fields."""
    annotations = written.__annotations__.items()
    return [name for name, note in annotations if not str(note).startswith(CLASS_VARIABLE)]


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
        if isinstance(instance, type):  # `inspect.signature` binds the initializer of a class to the class
            return MethodType(getattr(instance, self.name), instance)
        target = next((cls for cls in owner.__mro__ if cls.__dict__.get(self.name) is self), None)
        if target is not None:  # else another thread was faster
            self.generate(target)
        return getattr(owner if instance is None else instance, self.name)

    def generate(self, target: type) -> None:
        if not self.has_plain_bases:
            self.take_over_standard(target)
        elif self.name == "__init__" and self.options.get("init", True):
            target.__init__ = self.initializer()  # type: ignore[misc]
        elif self.name == "__eq__":
            target.__eq__ = equality(self.written, self.compared())  # type: ignore[method-assign,assignment]
        elif self.name == "__hash__":
            target.__hash__ = hashing(self.written, self.hashed())  # type: ignore[method-assign,assignment]
        elif self.name == "__repr__":
            target.__repr__ = representation(self.written, self.shown())  # type: ignore[method-assign,assignment]
        elif self.name == "__dataclass_fields__":
            setattr(target, self.name, self.fields())
        else:
            self.take_over_standard(target)

    def take_over_standard(self, target: type) -> None:
        generated = self.apply_standard(self.options)
        for name, value in [*target.__dict__.items()]:
            if isinstance(value, Placeholder):
                setattr(target, name, generated.__dict__[name])

    @property
    def bases(self) -> list[Any]:
        """The base classes that have fields."""
        return [base for base in self.written.__mro__[1:] if "__dataclass_fields__" in base.__dict__]

    @property
    def has_plain_bases(self) -> bool:
        """Whether no base class has InitVars or class variables, which are in `__dataclass_fields__` but no `fields`."""
        return all(len(dataclasses.fields(base)) == len(base.__dataclass_fields__) for base in self.bases)

    def initializer(self) -> Callable[..., None]:
        is_frozen = bool(self.options.get("frozen"))
        if not self.bases and is_simple(self.written, self.options):
            return initializer(self.written, self.own_fields(), (), is_frozen)
        fields = self.fields()
        by_keyword = [name for name, field in fields.items() if field.kw_only]
        return initializer(self.written, fields, by_keyword, is_frozen)

    def compared(self) -> list[str]:
        return [
            name
            for name, field in self.cheapest_fields().items()
            if not isinstance(field, Field) or field.compare
        ]

    def hashed(self) -> list[str]:
        return [
            name
            for name, field in self.cheapest_fields().items()
            if not isinstance(field, Field) or is_hashed(field)
        ]

    def shown(self) -> list[str]:
        return [
            name
            for name, field in self.cheapest_fields().items()
            if not isinstance(field, Field) or field.repr
        ]

    def cheapest_fields(self) -> Mapping[str, object]:
        """`fields`, or `own_fields` where there are no others, which makes no Field for each.

        A value that is no Field has all options at their defaults.
        """
        return self.fields() if self.bases else self.own_fields()

    def own_fields(self) -> dict[str, object]:
        """The fields that the class itself annotates: for each a `Field`, its default, or MISSING."""
        written = self.written.__dict__
        return {name: written.get(name, MISSING) for name in field_names(self.written)}

    def fields(self) -> dict[str, Field[Any]]:
        """The fields by name, those of base classes included."""
        fields: dict[str, Field[Any]] = {}
        for base in reversed(self.bases):
            fields |= base.__dataclass_fields__
        is_by_keyword = self.options.get("kw_only", False)
        return fields | {
            name: complete_field(value, name, self.written.__annotations__[name], is_by_keyword)
            for name, value in self.own_fields().items()
        }

    def apply_standard(self, options: dict[str, Any]) -> type:
        copy = new_class(self.written, body_of(self.written))
        copy.__doc__ = self.written.__doc__ or "none"  # else the decorator makes one of the signature
        generated: type = dataclasses.dataclass(**options)(copy)
        return generated


def complete_field(value: object, name: str, note: object, is_by_keyword: bool) -> Field[Any]:
    """The field of an annotation and its value, with what the standard decorator adds.

    value: a `Field`, a default, or MISSING.
    """
    field: Any = value if isinstance(value, Field) else dataclasses.field(default=value)
    field.name, field.type = name, note
    field._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
    if field.kw_only is MISSING:
        field.kw_only = is_by_keyword
    return field  # type: ignore[no-any-return]


def is_hashed(field: Field[Any]) -> bool:
    return bool(field.compare if field.hash is None else field.hash)


def is_simple(written: type, options: dict[str, Any]) -> bool:
    """Whether each field is a positional parameter of the initializer."""
    fields = [value for value in written.__dict__.values() if isinstance(value, Field)]
    return (
        not options.get("kw_only")
        and options.get("init", True)
        and all(field.init and field.kw_only is MISSING for field in fields)
    )


def refuse_assignment(instance: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def refuse_deletion(instance: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def state(instance: Any) -> list[Any]:
    return [getattr(instance, field.name) for field in dataclasses.fields(instance)]


def set_state(instance: Any, values: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(instance), values, strict=True):
        object.__setattr__(instance, field.name, value)
