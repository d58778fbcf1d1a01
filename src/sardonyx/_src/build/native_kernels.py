"""Native kernels of operators that callers define: checks of the argument `native`."""

from __future__ import annotations

import ctypes
from types import FunctionType
from typing import TYPE_CHECKING, cast

from sardonyx._src.arguments import require_choice, type_name
from sardonyx._src.errors import InputError
from sardonyx._src.ops.native_kernel import NativeKernel, UnitsOfWork
from sardonyx._src.schema import OpSchema

if TYPE_CHECKING:
    from _ctypes import CFuncPtr

C_FUNCTION = ctypes.CFUNCTYPE(None).__mro__[
    1
]  # the base class of C functions in ctypes, which has no public name
MAX_ADDRESS = 1 << 48
UNITS: tuple[UnitsOfWork, ...] = ("elements", "rows", "call")
C_ATTRIBUTES = ("INT", "FLOAT")


def native_kernel(native: object, units: UnitsOfWork, schema: OpSchema) -> NativeKernel:
    """The kernel of an argument `native`: a Python function that writes it, or a C function or its address.

    Raises TypeError for anything else, and InputError for a number that cannot be an address, and for an operator with
    attributes that a C function cannot receive.
    """
    require_choice("units", units, UNITS)
    if isinstance(native, FunctionType):
        return NativeKernel(native, 0, units)
    if isinstance(native, C_FUNCTION):
        address = ctypes.cast(cast("CFuncPtr", native), ctypes.c_void_p).value or 0
    elif isinstance(native, int) and not isinstance(native, bool):
        address = native
    else:
        raise TypeError(f"native must be a function, or the address of a C function; got {type_name(native)}")
    if not 0 < address < MAX_ADDRESS:
        raise InputError(
            f"the address of a C function must be positive, below 2^48; got {address}", name="native"
        )
    for attribute in schema.attributes.values():
        if attribute.type not in C_ATTRIBUTES:
            what = f"attributes of a C function must be numbers; {attribute.name} of {schema.name} is {attribute.type}"
            raise InputError(what, name="native")
    return NativeKernel(None, address, units, native)
