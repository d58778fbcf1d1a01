"""`dataclass` with the meaning of the standard decorator, which generates the methods of a class at their first use.

The standard decorator compiles about six functions for each class, which takes half a millisecond.  A process imports
hundreds of such classes, creates objects of half of them and compares those of few.  Here a class with slots has
placeholders.  The first use of one generates it.  The initializer, comparison and hash, which most classes need and
nothing else, have generators here; the fields, which `replace` needs, are made without the methods.  For any other
attribute the standard decorator is applied to a copy of the class, and all that it generates is taken over.
Classes without slots, or with annotations other than of fields and class variables, are left to the standard decorator.

`field`, `replace` and the other functions of `dataclasses` work on these classes.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field
from typing import TYPE_CHECKING, Any

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
    if is_usual and options.get("slots"):
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
        target = next((cls for cls in owner.__mro__ if cls.__dict__.get(self.name) is self), None)
        if target is not None:  # else another thread was faster
            self.generate(target)
        return getattr(owner if instance is None else instance, self.name)

    def generate(self, target: type) -> None:
        if not self.inherits_fields_only:
            self.take_over_standard(target)
        elif self.name == "__init__" and self.options.get("init", True):
            target.__init__ = self.initializer()  # type: ignore[misc]
        elif self.name == "__eq__":
            target.__eq__ = equality(self.written, self.fields())  # type: ignore[method-assign,assignment]
        elif self.name == "__hash__":
            target.__hash__ = hashing(self.written, self.fields())  # type: ignore[method-assign,assignment]
        elif self.name == "__dataclass_fields__" and not self.bases:
            setattr(target, self.name, self.all_fields())
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
    def inherits_fields_only(self) -> bool:
        """Whether base classes have fields and nothing else that the decorator treats, such as InitVars."""
        return all(len(dataclasses.fields(base)) == len(base.__dataclass_fields__) for base in self.bases)

    def initializer(self) -> Callable[..., None]:
        is_frozen = bool(self.options.get("frozen"))
        if not self.bases and is_simple(self.written, self.options):
            written = self.written.__dict__
            given = {name: written.get(name, MISSING) for name in field_names(self.written)}
            return initializer(self.written, given, (), is_frozen)
        fields = self.fields()
        by_keyword = [name for name, field in fields.items() if field.kw_only]
        return initializer(self.written, fields, by_keyword, is_frozen)

    def fields(self) -> dict[str, Field[Any]]:
        """The fields by name, those of base classes included."""
        fields = self.all_fields()
        variables = set(self.written.__annotations__).difference(field_names(self.written))
        return {name: field for name, field in fields.items() if name not in variables}

    def all_fields(self) -> dict[str, Field[Any]]:
        """`__dataclass_fields__`: fields, and class variables."""
        options = {"init": False, "repr": False, "eq": False, "kw_only": self.options.get("kw_only", False)}
        if self.bases:  # a frozen class may only have frozen bases
            options["frozen"] = self.options.get("frozen", False)
        fields: dict[str, Field[Any]] = self.apply_standard(options).__dict__["__dataclass_fields__"]
        return fields

    def apply_standard(self, options: dict[str, Any]) -> type:
        copy = new_class(self.written, body_of(self.written))
        copy.__doc__ = self.written.__doc__ or "none"  # else the decorator makes one of the signature
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


def initializer(
    written: type, given: Mapping[str, object], by_keyword: Collection[str], is_frozen: bool
) -> Callable[..., None]:
    """The initializer of a class.

    given: for each field a `Field`, its default, or MISSING.
    by_keyword: the fields that are passed by keyword only.
    """
    names: dict[str, Any] = {"set_field": object.__setattr__, "GIVEN": GIVEN}
    parameters: dict[bool, list[str]] = {False: ["self"], True: []}
    lines: list[str] = []
    notes: dict[str, Any] = {}
    for name, default in given.items():
        parameter, value = parameter_and_value(name, default, names)
        if parameter:
            parameters[name in by_keyword].append(parameter)
            inherited = default.type if isinstance(default, Field) else None
            notes[name] = written.__annotations__.get(name, inherited)
        if value:
            lines.append(f"set_field(self, {name!r}, {value})" if is_frozen else f"self.{name} = {value}")
    if hasattr(written, "__post_init__"):
        lines.append("self.__post_init__()")
    signature = ", ".join([*parameters[False], *(["*"] if parameters[True] else []), *parameters[True]])
    function = define(f"def __init__({signature}):\n " + "\n ".join(lines or ["pass"]), names, written)
    function.__annotations__ = {**notes, "return": None}
    return function


def define(text: str, names: dict[str, Any], written: type) -> Callable[..., Any]:
    """The function that a text defines with these names, as a method of a class."""
    exec(text, names)
    function: Callable[..., Any] = names[text[len("def ") : text.index("(")]]
    function.__qualname__ = f"{written.__qualname__}.{function.__name__}"
    return function


def parameter_and_value(name: str, default: object, names: dict[str, Any]) -> tuple[str, str]:
    """The parameter of a field and what the field becomes, as texts, "" for none; objects in them are added to the names."""
    is_passed = True
    if isinstance(default, Field):
        is_passed = default.init
        if default.default_factory is not MISSING:
            names[f"make_{name}"] = default.default_factory
            if not is_passed:
                return "", f"make_{name}()"
            return f"{name}=GIVEN", f"make_{name}() if {name} is GIVEN else {name}"
        default = default.default
    if default is MISSING:
        return (name, name) if is_passed else ("", "")
    names[f"default_{name}"] = default
    return (f"{name}=default_{name}", name) if is_passed else ("", f"default_{name}")


def equality(written: type, fields: Mapping[str, Field[Any]]) -> Callable[[Any, Any], bool]:
    compared = [name for name, field in fields.items() if field.compare]
    values = [f"({''.join(f'{owner}.{name},' for name in compared)})" for owner in ("self", "other")]
    lines = ["if other.__class__ is self.__class__:", f" return {values[0]} == {values[1]}"]
    lines.append("return NotImplemented")
    return define("def __eq__(self, other):\n " + "\n ".join(lines), {}, written)


def hashing(written: type, fields: Mapping[str, Field[Any]]) -> Callable[[Any], int]:
    hashed = [name for name, field in fields.items() if (field.compare if field.hash is None else field.hash)]
    return define(
        f"def __hash__(self):\n return hash(({''.join(f'self.{name},' for name in hashed)}))", {}, written
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
