"""Directory handles that resolve names without following links."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Sequence
from typing import Self

from sardonyx._src.io.open_flags import BINARY_FLAG, NOFOLLOW_FLAG, READ_FLAGS

HAS_DIR_FD = (
    hasattr(os, "O_NOFOLLOW") and {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd
)
# O_PATH opens a directory that may be searched but not listed.
DIRECTORY_FLAGS = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", 0)
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY_FLAG | NOFOLLOW_FLAG
JUNCTION_TAG = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT


class Folder:
    """An open directory: its names resolve to the same files even if directories on its path are renamed.

    Every method raises OSError, with ELOOP for a link that must not be followed.  Without `HAS_DIR_FD`, names are
    resolved by path, and an opened file must be identical to the one checked before.
    """

    __slots__ = ("fd", "path")

    def __init__(self, path: str, fd: int | None) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def from_path(cls, path: str) -> Folder:
        """The directory at `path`, which the caller trusts: links in it are followed."""
        if HAS_DIR_FD:
            return cls(path, os.open(path, DIRECTORY_FLAGS))
        real = os.path.realpath(path, strict=True)
        if not os.path.isdir(real):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return cls(real, None)

    def system_path(self, name: str) -> str:
        """The path to pass to a system call with `dir_fd=self.fd`."""
        return name if self.fd is not None else os.path.join(self.path, name)

    def status(self, name: str) -> os.stat_result:
        """The status of `name`; links are not followed."""
        return os.stat(self.system_path(name), dir_fd=self.fd, follow_symlinks=False)

    def enter(self, name: str, *, make: bool = False) -> Folder:
        """The subdirectory `name`; with `make`, created if it is missing."""
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.system_path(name), dir_fd=self.fd)
        path = os.path.join(self.path, name)
        if is_link(self.status(name)):
            raise link_error(path)
        if self.fd is not None:
            return Folder(path, os.open(name, DIRECTORY_FLAGS | NOFOLLOW_FLAG, dir_fd=self.fd))
        inner = Folder.from_path(path)
        if os.path.normcase(inner.path) != os.path.normcase(path):
            raise link_error(path)
        return inner

    def reach(self, names: Sequence[str], *, make: bool = False) -> Folder:
        """The directory at the relative path `names`; a new handle even if `names` is empty."""
        folder = Folder(self.path, None if self.fd is None else os.dup(self.fd))
        for name in names:
            with folder:
                folder = folder.enter(name, make=make)
        return folder

    def open(self, name: str) -> int:
        """A read descriptor of `name`, which must not be a link."""
        if self.fd is not None:
            return os.open(name, READ_FLAGS | NOFOLLOW_FLAG, dir_fd=self.fd)
        seen = self.status(name)
        if is_link(seen):
            raise link_error(self.system_path(name))
        fd = os.open(self.system_path(name), READ_FLAGS)
        if not os.path.samestat(seen, os.fstat(fd)):
            os.close(fd)
            raise OSError(errno.EIO, "the file was replaced while it was opened", self.system_path(name))
        return fd

    def create(self, name: str, mode: int = 0o666) -> int:
        """A write descriptor of the new file `name`; the umask removes bits of its mode."""
        return os.open(self.system_path(name), CREATE_FLAGS, mode, dir_fd=self.fd)

    def rename(self, old: str, new: str) -> None:
        """Renames a file in this directory, replacing an existing `new`; a link is renamed or replaced itself."""
        os.replace(self.system_path(old), self.system_path(new), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def remove(self, name: str) -> None:
        os.unlink(self.system_path(name), dir_fd=self.fd)

    def sync(self) -> None:
        """Flushes the entries of this directory to disk, where the system supports it."""
        # Best effort: the renames are done, and some directories or file systems cannot be synced.
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
    """Whether the status describes a symbolic link or a Windows junction."""
    return stat.S_ISLNK(status.st_mode) or getattr(status, "st_reparse_tag", 0) == JUNCTION_TAG


def link_error(path: str) -> OSError:
    return OSError(errno.ELOOP, "symbolic links are not followed here", path)
