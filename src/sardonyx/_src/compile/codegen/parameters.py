"""Parameters of kernels, declared once: names for the caller, for the kernel, and for printers.

A kernel receives an array of i64 slots, each an address or a size.  A declaration names the slots in order; a name with a
star stands for all remaining slots:

    PARAMETERS = Parameters("x", "y", "rows", "columns", "dims*")

    Step(kernel, PARAMETERS.pack(x=x, y=y, rows=rows, columns=columns, dims=space.to_arguments()), ...)

    b = KernelBuilder(target, PARAMETERS)
    x, rows = b.pointer("x"), b.integer("rows")
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TypeVar, cast

T = TypeVar("T")


def float32_bits(number: float) -> int:
    """A float32 as a kernel argument, which the kernel loads by `KernelBuilder.float32`."""
    bits: int = struct.unpack("<i", struct.pack("<f", number))[0]
    return bits


class Parameters:
    """The names of a kernel's argument slots, in order; the last one may stand for any number of slots (`dims*`)."""

    def __init__(self, *names: str) -> None:
        assert not any(name.endswith("*") for name in names[:-1]), "only the last parameter may have a star"
        self.names = names
        self._slots = {name.removesuffix("*"): i for i, name in enumerate(names)}
        self._rest = names[-1][:-1] if names and names[-1].endswith("*") else ""
        assert len(self._slots) == len(names), f"parameters must have different names; got {names}"

    def __add__(self, other: Parameters) -> Parameters:
        return Parameters(*self.names, *other.names)

    def index(self, name: str) -> int:
        """The slot of a parameter; `dims` is the first slot of one with a star, `dims[2]` the third (`slot_names`)."""
        base, bracket, position = name.partition("[")
        assert base in self._slots, f"parameter must be one of {', '.join(self.names)}; got {name}"
        assert not bracket or base == self._rest, f"only a parameter with a star has positions; got {name}"
        return self._slots[base] + int(position[:-1] or 0)

    def pack(self, **arguments: T | Sequence[T]) -> tuple[T, ...]:
        """The arguments in the order of the slots; the argument of a parameter with a star is a tuple or a list."""
        assert arguments.keys() == self._slots.keys(), (
            f"arguments must be {', '.join(self.names)}; got {', '.join(arguments)}"
        )
        packed: list[T] = []
        for name in self._slots:
            argument = arguments[name]
            assert isinstance(argument, tuple | list) == (name == self._rest), (
                f"{name} must be {'several arguments' if name == self._rest else 'one argument'}; got {argument}"
            )
            if isinstance(argument, tuple | list):
                packed += argument
            else:
                packed.append(cast(T, argument))
        return tuple(packed)

    def slot_names(self, count: int) -> tuple[str, ...]:
        """A name for each of `count` slots: `dims[0]`, `dims[1]`, ... for the slots of a parameter with a star."""
        if not self._rest:
            return self.names
        plain = self.names[:-1]
        return (*plain, *(f"{self._rest}[{i}]" for i in range(count - len(plain))))
