"""The mapped files that a session depends on, checked before each of its runs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sardonyx._src.io.external import ExternalFiles, ExternalStorage
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.ir.tensors import RawStorage


class MapGuard:
    """The mapped files that hold arrays, tensors and external data, including external data files that are opened later."""

    def __init__(
        self, tensors: Iterable[Tensor] = (), arrays: Iterable[Array] = (), others: Iterable[object] = ()
    ) -> None:
        """others: more buffers; those that are not maps of files are ignored."""
        storages = [tensor.storage for tensor in tensors]
        raw = (storage.data for storage in storages if isinstance(storage, RawStorage))
        buffers = [*raw, *map(buffer_of, arrays), *others]
        owners = (buffer.obj if isinstance(buffer, memoryview) else buffer for buffer in buffers)
        self._owners = {id(owner): owner for owner in owners if isinstance(owner, MappedFile)}
        external = (storage.files for storage in storages if isinstance(storage, ExternalStorage))
        self._external: dict[int, ExternalFiles] = {id(files): files for files in external}

    def __bool__(self) -> bool:
        return bool(self._owners or self._external)

    def require_unchanged(self) -> None:
        """Raises FileChanged if one of the files was shortened or overwritten since it was mapped."""
        for owner in self._owners.values():
            owner.require_unchanged()
        for files in self._external.values():
            for owner in files.mapped_files():
                owner.require_unchanged()


def buffer_of(array: Array) -> object:
    """The object that owns the memory of an array."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner
