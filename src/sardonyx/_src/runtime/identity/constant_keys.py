"""Keys of lazy constants: two constants with one key have the same bytes, in any process, as long as the model's files last.

The key is a hash of everything that the function of a lazy constant reads: its name, and the values that its closure
captures.  An array that views a mapped file of the model is identified by its place in the file, any other by its bytes.
The sources of the packing functions are not part of a key: entries of the cache that share constants are of one version.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import TypeAlias

import numpy as np

from sardonyx._src.compile.program.operands.lazy_constants import LazyConstant
from sardonyx._src.io.mapped_files import MappedFile, address_of
from sardonyx._src.io.memory_release import mapped_file_of
from sardonyx._src.ir import Array

# The name of the file that a map has mapped; "" for a file that is not one of the model's.
FileNames: TypeAlias = Callable[[MappedFile], str]
# Larger arrays that are in no file have no identity: hashing them takes as long as packing.
MAX_HASHED_BYTES = 1 << 20


class UnidentifiedError(Exception):
    """A value that has no identity outside of this process."""


def constant_key(constant: LazyConstant, names: FileNames) -> str | None:
    """The key of a constant; None for one whose sources have no identity outside of this process."""
    facts = [constant.shape, constant.row_rank, constant.dtype.str]
    try:
        parts = [repr(facts), identify(constant.compute_rows, names)]
    except UnidentifiedError:
        return None
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def identify(value: object, names: FileNames) -> str:
    """Text that differs for different values; raises UnidentifiedError for a value of an unknown type."""
    if value is None or isinstance(value, int | float | str | bytes | np.dtype):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, tuple | list):
        return f"({', '.join(identify(item, names) for item in value)})"
    if isinstance(value, np.ndarray):
        return identify_array(value, names)
    if isinstance(value, FunctionType):
        captured = [cell.cell_contents for cell in value.__closure__ or ()]
        defaults = (value.__defaults__, tuple((value.__kwdefaults__ or {}).items()))
        return f"{value.__module__}.{value.__qualname__} {identify((defaults, captured), names)}"
    if is_dataclass(value):
        parts = (getattr(value, field.name) for field in fields(value))
        return f"{type(value).__qualname__} {identify(tuple(parts), names)}"
    raise UnidentifiedError


def identify_array(array: Array, names: FileNames) -> str:
    """The place of an array in a file of the model, or else a hash of its bytes."""
    facts = f"{array.dtype.str} {array.shape}"
    owner = mapped_file_of(array)
    name = names(owner) if isinstance(owner, MappedFile) else ""
    if name and isinstance(owner, MappedFile):
        return f"{name} {array.ctypes.data - address_of(memoryview(owner))} {facts} {array.strides}"
    if array.nbytes > MAX_HASHED_BYTES or array.dtype.hasobject:
        raise UnidentifiedError
    return f"{hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()} {facts}"
