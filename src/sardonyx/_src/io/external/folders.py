"""Directories in which names are looked up without following links."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from typing import Self

HELD = hasattr(os, "O_NOFOLLOW") and {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
BINARY = getattr(os, "O_BINARY", 0)
# A directory that may be searched but not listed can still be held by O_PATH.
DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)
# O_NONBLOCK: a FIFO that takes a file's place must not hang the reader.
READ = os.O_RDONLY | BINARY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY | NOFOLLOW
JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT


class Folder:
    """A directory, held open so that its names mean the same files whatever is renamed around it.

    Every method raises OSError, with ELOOP where a link stands and none is followed.  Without `HELD`, names are
    looked up by path, and what was opened must be what was looked at.
    """

    __slots__ = ("fd", "path")

    def __init__(self, path: str, fd: int | None) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def at(cls, path: str) -> Folder:
        """The directory at `path`; links on the way to it are the caller's own and are followed."""
        if HELD:
            return cls(path, os.open(path, DIRECTORY))
        real = os.path.realpath(path, strict=True)
        if not os.path.isdir(real):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return cls(real, None)

    def place(self, name: str) -> str:
        """The name as a system call with `dir_fd=self.fd` wants it."""
        return name if self.fd is not None else os.path.join(self.path, name)

    def status(self, name: str) -> os.stat_result:
        """What stands under `name`; of a link, the link."""
        return os.stat(self.place(name), dir_fd=self.fd, follow_symlinks=False)

    def enter(self, name: str, *, make: bool = False) -> Folder:
        """The directory `name` in this one, made when it is missing and `make` says so."""
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.place(name), dir_fd=self.fd)
        path = os.path.join(self.path, name)
        if is_link(self.status(name)):
            raise link_found(path)
        if self.fd is not None:
            return Folder(path, os.open(name, DIRECTORY | NOFOLLOW, dir_fd=self.fd))
        inner = Folder.at(path)
        if os.path.normcase(inner.path) != os.path.normcase(path):
            raise link_found(path)
        return inner

    def reach(self, names: Sequence[str], *, make: bool = False) -> Folder:
        """The directory to which `names` lead, one in the other; another handle even when there are none."""
        folder = Folder(self.path, None if self.fd is None else os.dup(self.fd))
        for name in names:
            with folder:
                folder = folder.enter(name, make=make)
        return folder

    def open(self, name: str) -> int:
        """A descriptor to read `name` from, which is not a link."""
        if self.fd is not None:
            return os.open(name, READ | NOFOLLOW, dir_fd=self.fd)
        seen = self.status(name)
        if is_link(seen):
            raise link_found(self.place(name))
        fd = os.open(self.place(name), READ)
        if not os.path.samestat(seen, os.fstat(fd)):
            os.close(fd)
            raise OSError(errno.EIO, "it was replaced while it was opened", self.place(name))
        return fd

    def create(self, name: str) -> int:
        """A descriptor to write the new file `name` to, with the mode that the umask leaves."""
        return os.open(self.place(name), CREATE, 0o666, dir_fd=self.fd)

    def rename(self, old: str, new: str) -> None:
        """Gives a file of this directory another name, in the place of what had it; of a link, the link."""
        os.replace(self.place(old), self.place(new), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def remove(self, name: str) -> None:
        os.unlink(self.place(name), dir_fd=self.fd)

    def sync(self) -> None:
        """Asks the system to keep the names of this directory over a loss of power, where it can do that."""
        # The files are in place: a directory that may not be read, or a file system that syncs none, loses nothing.
        if self.fd is not None:
            with contextlib.suppress(OSError):
                fd = os.open(".", os.O_RDONLY, dir_fd=self.fd)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def is_link(status: os.stat_result) -> bool:
    """Whether it is a symbolic link, or the junction of a Windows directory."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == JUNCTION


def link_found(path: str) -> OSError:
    return OSError(errno.ELOOP, "a symbolic link, where none is followed", path)
