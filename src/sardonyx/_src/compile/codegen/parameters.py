"""Parameters of kernels, declared once: names for the caller, for the kernel, and for printers.

A kernel receives an array of i64 slots, each an address or a size.  A declaration names the slots in order; a name with a
star stands for all remaining slots:

    PARAMETERS = Parameters("x", "y", "rows", "columns", "dims*")

    Step(kernel, PARAMETERS.pack(x=x, y=y, rows=rows, columns=columns, dims=space.to_arguments()), ...)

    b = KernelBuilder(target, PARAMETERS)
    x, rows = b.pointer("x"), b.integer("rows")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


class Parameters:
    """The names of a kernel's argument slots, in order; the last one may stand for any number of slots (`dims*`)."""

    def __init__(self, *names: str) -> None:
        assert len(set(names)) == len(names), f"parameters must have different names; got {names}"
        assert not any(name.endswith("*") for name in names[:-1]), "only the last parameter may have a star"
        self.names = names

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters(*self.names, *other.names)

    def index(self, name: str) -> int:
        """The slot of a parameter; the first slot of one with a star, which is given without the star."""
        for i, declared in enumerate(self.names):
            if declared.rstrip("*") == name:
                return i
        raise AssertionError(f"parameter must be one of {', '.join(self.names)}; got {name}")

    def pack(self, **arguments: T | Sequence[T]) -> tuple[T, ...]:
        """The arguments in the order of the slots; a parameter with a star takes a sequence."""
        declared = [name.rstrip("*") for name in self.names]
        assert set(arguments) == set(declared), f"arguments must be {declared}; got {list(arguments)}"
        rests = [name for name, argument in arguments.items() if isinstance(argument, Sequence)]
        assert rests == [name[:-1] for name in self.names if name.endswith("*")], (
            f"{rests} must be single arguments"
        )
        return tuple(self._flatten(arguments))

    def _flatten(self, arguments: dict[str, T | Sequence[T]]) -> Iterator[T]:
        for name in self.names:
            argument = arguments[name.rstrip("*")]
            if isinstance(argument, Sequence):
                yield from argument
            else:
                yield argument

    def slot_names(self, count: int) -> tuple[str, ...]:
        """A name for each of `count` slots: `dims[0]`, `dims[1]`, ... for the slots of a parameter with a star."""
        if not self.names or not self.names[-1].endswith("*"):
            return self.names
        *plain, rest = self.names
        return (*plain, *(f"{rest[:-1]}[{i}]" for i in range(count - len(plain))))
