"""Native kernels of operators that callers define: Python functions that write a kernel, and C functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from sardonyx._src.dataclass import dataclass

UnitsOfWork = Literal["elements", "rows", "call"]


@dataclass(frozen=True, slots=True)
class NativeKernel:
    """The code that the native engine runs for an operator that a caller has defined.

    write: writes the kernel, given a `KernelWriter`, its tensors and attributes; None for a C function
    address: the address of the C function
    units: the part of the first output that is divided among threads: its elements, its rows along the last axis, or nothing
    owner: an object that keeps the C function alive
    """

    write: Callable[..., object] | None
    address: int
    units: UnitsOfWork
    owner: object = None
