"""Native kernels of callers: functions that write a kernel, and C functions, as parts of an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

UnitsOfWork = Literal["elements", "rows", "call"]


@dataclass(frozen=True, slots=True)
class NativeKernel:
    """What the native engine runs for an operator that a caller has defined.

    write: writes the kernel, given a `KernelWriter`, its tensors and attributes; None for a C function.  address: of the C
    function.  units: what is divided among threads: the elements or the rows (along the last axis) of the first output, or nothing.
    owner: keeps the C function alive.
    """

    write: Callable[..., object] | None
    address: int
    units: UnitsOfWork
    owner: object = None
