"""Stamps: identify a file and the version of its content without reading it, or a model that is given as bytes."""

from __future__ import annotations

import os
import time
from dataclasses import field
from typing import Self

from sardonyx._src.dataclass import dataclass

RACY_WINDOW = 100_000_000  # nanoseconds: more than the resolution of a file system's timestamps


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Identity of a file and of its content: path, device, inode, size, and times of modification and change.

    seen: when the stamp was taken, in nanoseconds.
    """

    path: str
    device: int
    inode: int
    size: int
    modified: int
    changed: int
    seen: int = field(compare=False, repr=False)

    @classmethod
    def from_path(cls, path: str) -> Self:
        """The stamp of a file now; raises OSError for a file that does not exist."""
        seen = time.time_ns()
        return cls.from_status(path, os.stat(path), seen)

    @classmethod
    def from_descriptor(cls, path: str, fd: int) -> Self:
        """The stamp of an open file now."""
        seen = time.time_ns()
        return cls.from_status(path, os.fstat(fd), seen)

    @classmethod
    def from_status(cls, path: str, status: os.stat_result, seen: int) -> Self:
        return cls(
            path,
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            seen,
        )

    @property
    def is_racily_clean(self) -> bool:
        """Whether the file may still change without changing the stamp ("racily clean", as git's index calls it)."""
        return self.seen - self.changed <= RACY_WINDOW

    def has_same_file(self, other: FileStamp) -> bool:
        """Whether both are stamps of one file, whatever its content was when they were taken."""
        return (self.device, self.inode) == (other.device, other.inode)


@dataclass(frozen=True, slots=True)
class BytesStamp:
    """Identity of a model given as bytes: its SHA-256, in hexadecimal."""

    digest: str

    @classmethod
    def of(cls, data: bytes) -> Self:
        import hashlib  # loads slowly, and only bytes need it

        return cls(hashlib.sha256(data).hexdigest())

    @property
    def is_racily_clean(self) -> bool:
        """False: other bytes have another stamp."""
        return False


@dataclass(frozen=True, slots=True)
class FileStamps:
    """The stamps of a model's file, or bytes, and of the files of its external data, in order of their paths."""

    files: tuple[FileStamp | BytesStamp, ...]

    @property
    def is_racily_clean(self) -> bool:
        """Whether one of the files may still change without changing its stamp."""
        return any(stamp.is_racily_clean for stamp in self.files)
