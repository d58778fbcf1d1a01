"""`dataclass` of the package behaves as the standard decorator does, whichever attribute of a class is used first."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import threading
import weakref
from collections.abc import Callable
from dataclasses import FrozenInstanceError, InitVar, field
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from sardonyx._src.dataclass import Placeholder, dataclass
from sardonyx._src.method_templates import compile_method

T = TypeVar("T")
Decorator = Callable[..., Any]


def plain(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = field(default_factory=list, compare=False, repr=False)

    return Point


def mutable(decorator: Decorator) -> type:
    @decorator(slots=True)
    class Point:
        x: int
        y: int = 2

        def __post_init__(self) -> None:
            self.y += self.x

    return Point


def ordered(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True, order=True)
    class Point:
        x: int
        y: int = 2

    return Point


def explicit(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        _cached: int = field(default=7, init=False, repr=False, compare=False)

        def __hash__(self) -> int:
            return self._cached

        def __repr__(self) -> str:
            return "point"

    return Point


def with_own_equality(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2

        def __eq__(self, other: object) -> bool:
            return isinstance(other, type(self)) and other.x == self.x

    return Point


def by_identity(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True, eq=False, weakref_slot=True)
    class Point:
        x: int
        y: int = 2

    return Point


def derived(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True)
    class Base:
        x: int

    @decorator(frozen=True, slots=True)
    class Point(Base):
        y: int = 2

    return Point


def by_keyword(decorator: Decorator) -> type:
    @decorator(slots=True)
    class Point:
        x: int
        y: int = field(default=2, kw_only=True)

    return Point


def with_computed_fields(decorator: Decorator) -> type:
    @decorator(slots=True)
    class Point:
        x: int
        names: dict[str, int] = field(init=False, default_factory=dict)
        doubled: int = field(init=False)
        count: int = field(init=False, default=7)
        y: int = 2

        def __post_init__(self) -> None:
            self.doubled = self.names.setdefault("doubled", 2 * self.x)

    return Point


def partly_hashed(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True)
    class Point:
        x: int = field(compare=False, hash=True)
        y: int = field(default=2, hash=False)

    return Point


def derived_by_keyword(decorator: Decorator) -> type:
    @decorator(slots=True, kw_only=True)
    class Base:
        y: int = 2
        tags: list[str] = field(default_factory=list)

    @decorator(slots=True)
    class Point(Base):
        x: int

    return Point


def derived_from_init_variable(decorator: Decorator) -> type:
    @decorator(slots=True)
    class Base:
        x: int
        start: InitVar[int] = 4  # type: ignore[assignment]  # mypy knows the standard decorator only

        def __post_init__(self, start: int) -> None:
            self.x += start

    @decorator(slots=True)
    class Point(Base):
        y: int = 2

    return Point


def with_class_variable(decorator: Decorator) -> type:
    @decorator(slots=True)
    class Point:
        count: ClassVar[int] = 3
        x: int
        y: int = 2

    return Point


def generic(decorator: Decorator) -> type:
    @decorator(frozen=True, slots=True)
    class Point(Generic[T]):
        x: T
        y: int = 2

    return Point


MAKERS = [
    plain,
    mutable,
    ordered,
    explicit,
    with_own_equality,
    by_identity,
    derived,
    by_keyword,
    with_computed_fields,
    partly_hashed,
    derived_by_keyword,
    derived_from_init_variable,
    with_class_variable,
    generic,
]
USES: dict[str, Callable[[Any], object]] = {
    "initialize": lambda cls: state(cls(1)),
    "pass all": lambda cls: state(cls(1, y=5)),
    "pass too few": lambda cls: cls(),
    "pass too many": lambda cls: cls(1, 2, 3, 4),
    "represent": lambda cls: hide_addresses(repr(cls(1))),
    "compare": lambda cls: (cls(1) == cls(1), cls(1) != cls(1, y=3), cls(1) == cls(2), cls(1) == 1),
    "hash": lambda cls: len({cls(1), cls(1), cls(2)}),
    "order": lambda cls: (cls(1) < cls(2), cls(1) >= cls(1, y=1)),
    "assign": lambda cls: setattr(cls(1), "x", 3),
    "delete": lambda cls: delattr(cls(1), "x"),
    "replace": lambda cls: state(dataclasses.replace(cls(1), x=4)),
    "convert": lambda cls: dataclasses.asdict(cls(1)),
    "fields": lambda cls: [(f.name, str(f.type), f.init, f.repr, f.compare) for f in dataclasses.fields(cls)],
    "parameters": lambda cls: str(inspect.signature(cls)),
    "is dataclass": lambda cls: dataclasses.is_dataclass(cls),
    "match": lambda cls: cls.__match_args__,
    "slots": lambda cls: (cls.__slots__, hasattr(cls(1), "__dict__")),
    "names": lambda cls: (cls.__qualname__, cls.__init__.__qualname__, cls.__module__),
    "refer weakly": lambda cls: weakref.ref(cls(1)) is None,
}


def state(point: Any) -> list[object]:
    return [getattr(point, f.name) for f in dataclasses.fields(point)]


def hide_addresses(text: str) -> str:
    return text.partition(" at 0x")[0]


def outcome(make: Callable[[Decorator], type], decorator: Decorator, use: str) -> object:
    """The result of a use of a new class, or its exception."""
    try:
        return USES[use](make(decorator))
    except Exception as error:  # noqa: BLE001  # any of them must be the same
        return type(error), str(error)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", MAKERS)
def test_first_use_of_a_class_is_as_of_the_standard_decorator(
    make: Callable[[Decorator], type], use: str
) -> None:
    assert outcome(make, dataclass, use) == outcome(make, dataclasses.dataclass, use)


@pytest.mark.parametrize("make", MAKERS)
def test_methods_are_generated_once(make: Callable[[Decorator], type]) -> None:
    cls = make(dataclass)
    first, second = cls(1), cls(1)
    assert not isinstance(vars(cls)["__init__"], Placeholder)
    assert state(first) == state(second)


@dataclass(frozen=True, slots=True)
class Pickled:
    x: int
    y: tuple[int, ...] = ()


def test_objects_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Pickled(1, (2,)))) == Pickled(1, (2,))


def test_decorating_generates_nothing() -> None:
    cls = plain(dataclass)
    generated = {"__init__", "__repr__", "__eq__", "__hash__", "__dataclass_fields__", "__match_args__"}
    assert generated <= {name for name, value in vars(cls).items() if isinstance(value, Placeholder)}


@pytest.mark.parametrize("name", ["x", "z"])
def test_frozen_objects_name_the_attribute(name: str) -> None:
    """The standard decorator fails at an attribute that is no field, since it replaces the class."""
    with pytest.raises(FrozenInstanceError, match=f"cannot assign to field '{name}'"):
        setattr(plain(dataclass)(1), name, 2)


def test_threads_may_use_a_class_first_at_the_same_time() -> None:
    for _ in range(50):
        cls, barrier = ordered(dataclass), threading.Barrier(4)
        results: list[bool] = []

        def use(cls: Any = cls, barrier: threading.Barrier = barrier, results: list[bool] = results) -> None:
            barrier.wait()
            results.append(cls(1) < cls(2) and hash(cls(1)) == hash(cls(1)) and cls(1) == cls(1))

        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [True] * 4


def test_classes_of_one_shape_share_compiled_code() -> None:
    @dataclass(frozen=True, slots=True)
    class Size:
        width: int
        height: int = 3

    assert Size(4) == Size(4, 3)
    compiled = compile_method.cache_info().misses

    @dataclass(frozen=True, slots=True)
    class Span:
        first: str = "a"
        last: str = "b"

    assert Span() == Span("a", last="b") != Span("c")
    assert compile_method.cache_info().misses == compiled
    assert (Size(1).width, Span().first) == (1, "a")


def misordered(decorator: Decorator) -> type:
    @decorator(slots=True)
    class Point:
        y: int = 2
        x: int  # that is the fault

    return Point


def test_fields_without_default_come_first() -> None:
    """The standard decorator refuses the class, the other one its first use."""
    with pytest.raises(TypeError, match="non-default argument 'x' follows default argument"):
        misordered(dataclass)(1)
    with pytest.raises(TypeError, match="non-default argument 'x' follows default argument"):
        misordered(dataclasses.dataclass)


def test_objects_that_contain_themselves_have_a_text() -> None:
    @dataclass(slots=True)
    class Loop:
        name: str
        inner: object = None

    loop = Loop("a")
    loop.inner = loop
    assert repr(loop).endswith("Loop(name='a', inner=...)")
