"""Opening regular files; a path of a FIFO, device, socket or directory is refused."""

from __future__ import annotations

import errno
import os
import re
import stat
from typing import TYPE_CHECKING, BinaryIO

from sardonyx._src.arguments import path_error
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.open_flags import READ_FLAGS

if TYPE_CHECKING:
    from pathlib import Path

# Names of open descriptors: the caller opened them, and shells pass pipes by them, as in `sardonyx check <(zcat m.gz)`.
DESCRIPTOR_PATH = re.compile(r"/dev/(?:stdin|fd/(\d+))|/proc/self/fd/(\d+)")
KINDS = {
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "FIFO",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFSOCK: "socket",
    stat.S_IFLNK: "symbolic link",
}


def kind_of_file(status: os.stat_result) -> str:
    """The kind of a file that is not a regular file: "FIFO", "device", ..."""
    return KINDS.get(stat.S_IFMT(status.st_mode), "special file")


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """The regular file at a path, open for reading, or the pipe of an open descriptor (/dev/stdin).

    Never waits for a writer.  Raises InvalidModel for a directory, FIFO, device or socket, InputError for a path that
    no file can have, and OSError for a file that cannot be opened.
    """
    text = os.fspath(path)
    accepted: tuple[int, ...] = (stat.S_IFREG,)
    try:
        if match := DESCRIPTOR_PATH.fullmatch(text):
            fd = os.dup(int(match[1] or match[2] or 0))
            accepted = (stat.S_IFREG, stat.S_IFIFO)
        else:
            # Before opening, because opening a device can have side effects, and a socket cannot be opened.
            refuse_irregular(text, os.stat(text), accepted)
            fd = os.open(text, READ_FLAGS)
    except ValueError as error:  # the path has a NUL, or surrogates that encode no bytes
        raise path_error(text, error) from None
    try:
        refuse_irregular(text, os.fstat(fd), accepted)
    except InvalidModel:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def refuse_irregular(path: str, status: os.stat_result, accepted: tuple[int, ...]) -> None:
    """Raises InvalidModel for a kind of file that is not in `accepted`."""
    if stat.S_IFMT(status.st_mode) in accepted:
        return
    kind = kind_of_file(status)
    cure = "name the model file in it" if kind == "directory" else "name a file, or - for standard input"
    raise InvalidModel(f"{path} must be a file; got a {kind}; {cure}")


def read_regular(path: Path) -> bytes:
    """The content of a regular file; raises what `open_regular` raises."""
    with open_regular(path) as file:
        return read_all(file, path)


def read_all(file: BinaryIO, path: str | os.PathLike[str], size: int = -1) -> bytes:
    """The rest of an open file, or at most `size` bytes of it; raises OSError, which names the file, if it cannot be read.

    Opening does not show every failure: files of /proc are regular, and some fail only when they are read.
    """
    try:
        data: bytes | None = file.read(size)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    if data is None:  # nothing is there yet, and a read of the descriptor never waits
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), os.fspath(path))
    return data
