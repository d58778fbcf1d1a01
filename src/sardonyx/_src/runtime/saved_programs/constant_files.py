"""Files that have constants of a cached program besides its own entry, so that these are stored once.

Weights that kernels read as the model stores them are mapped from the model's files, whose stamps are in the key of the
entry.  A specialized program reads those weights that the model's general program has packed in the same way from the
entry of that program.
"""

from __future__ import annotations

import errno
import os

import numpy as np

from sardonyx._src.io.file_stamps import FileStamp, FileStamps
from sardonyx._src.io.mapped_files import MappedFile, address_of
from sardonyx._src.io.memory_release import mapped_file_of
from sardonyx._src.io.regular_files import open_regular
from sardonyx._src.runtime.identity.model_stamps import ModelDigest, ModelStamp

GENERAL = "general"  # the name of the entry of the general program
MIN_BYTES = 1 << 16  # smaller constants are part of the entry


class ConstantFiles:
    """The files that a program may read constants from, by name.

    stamp: the stamp of the model, as of `ProgramKey`; None if its files may not be mapped.
    general: the map of the entry of the general program, and the digest of the entry; None for a general program.
    opened: the files that were mapped, those that have constants of the program.
    """

    def __init__(
        self, stamp: ModelStamp | ModelDigest | None = None, general: tuple[MappedFile, str] | None = None
    ) -> None:
        self.stamp, self.general = stamp, general
        files = stamp.files if isinstance(stamp, FileStamps) else (stamp,)
        self.stamps = {f"model {i}": file for i, file in enumerate(files) if isinstance(file, FileStamp)}
        self.opened: dict[str, MappedFile] = {}

    @property
    def general_digest(self) -> str:
        return "" if self.general is None else self.general[1]

    def name_of(self, owner: MappedFile) -> str:
        """The name of the file that a map shows, in the version that its stamp names; "" for any other file."""
        if self.general is not None and owner is self.general[0]:
            return GENERAL
        return next((name for name, stamp in self.stamps.items() if is_same_version(stamp, owner.stamp)), "")

    def find(self, content: object) -> tuple[str, int] | None:
        """The name of the file that an array is a dense part of, and its offset; None for another content."""
        if (
            not isinstance(content, np.ndarray)
            or not content.flags.c_contiguous
            or content.nbytes < MIN_BYTES
        ):
            return None
        owner = mapped_file_of(content)
        name = self.name_of(owner) if isinstance(owner, MappedFile) else ""
        if not name or not isinstance(owner, MappedFile):
            return None
        return name, content.ctypes.data - address_of(memoryview(owner))

    def map(self, name: str) -> memoryview:
        """The content of a file; raises OSError if there is none with the stamp, or it cannot be mapped."""
        if name not in self.opened:
            self.opened[name] = self.open(name)
        return memoryview(self.opened[name])

    def open(self, name: str) -> MappedFile:
        if name == GENERAL and self.general is not None:
            return self.general[0]
        stamp = self.stamps.get(name)
        if stamp is None:
            raise OSError(errno.ENOENT, "the program reads constants of an unknown file", name)
        with open_regular(stamp.path) as file:
            owner = MappedFile.from_descriptor(file.fileno(), stamp.size, stamp.path)
        if not is_same_version(stamp, owner.stamp):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), stamp.path)
        return owner


def is_same_version(stamp: FileStamp, other: FileStamp) -> bool:
    """Whether two stamps are of one version of one file, whatever path it was opened by."""
    times = (stamp.size, stamp.modified, stamp.changed) == (other.size, other.modified, other.changed)
    return times and stamp.has_same_file(other)
