"""Private files and folders, which only the user and root can write to; files with native code must be private.

Owners and modes are those of POSIX; on systems without them (Windows) the user's folders are private by default, and
nothing is checked.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Container
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.io.external.folders import Folder
from sardonyx._src.io.regular_files import kind_of_file

FOLDER_MODE = 0o700
ROOT = 0  # user id; files of root are trusted, since a container image may contain a cache
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class NotPrivateError(PermissionError):
    """A file or folder that another user may have written to; the message names the cure."""


def open_private_file(path: str | os.PathLike[str], trusted: Container[int] = ()) -> BinaryIO:
    """The private regular file at a path in a private folder, open for reading; no link is followed to it.

    trusted: the ids of other users whose files the caller trusts as root's.
    Raises NotPrivateError for a file or folder that another user owns or may write to, and OSError for another kind of
    file and for one that cannot be opened.
    """
    text = os.fspath(path)
    folder_path, name = os.path.split(text)
    with Folder.from_path(folder_path or os.curdir) as folder:
        require_private_folder(folder, trusted)
        fd = folder.open(name)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"must be a regular file; got a {kind_of_file(status)}", text)
        require_private(status, text, trusted)
    except OSError:
        os.close(fd)
        raise
    return os.fdopen(fd, "rb")


def make_private_folder(path: Path) -> None:
    """Creates a folder, if it is missing, that only the user may enter; its parent is created in the same way.

    Raises NotPrivateError for an existing folder that another user owns or may write to, and OSError.
    """
    for folder in (path.parent, path):
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    with Folder.from_path(str(path)) as handle:
        require_private_folder(handle)


def require_private_folder(folder: Folder, trusted: Container[int] = ()) -> None:
    status = os.stat(folder.path) if folder.fd is None else os.fstat(folder.fd)
    require_private(status, folder.path, trusted)


def require_private(status: os.stat_result, path: str, trusted: Container[int] = ()) -> None:
    """Raises NotPrivateError for a file or folder that another user owns or may write to."""
    if not hasattr(os, "geteuid"):
        return
    if status.st_uid not in (ROOT, os.geteuid()) and status.st_uid not in trusted:
        what = f"its owner must be the user {os.geteuid()} or root; got the user {status.st_uid}"
        raise NotPrivateError(errno.EPERM, f"{what}; remove it", path)
    if status.st_mode & WRITABLE_BY_OTHERS:
        what = f"others must not have permission to write; got mode {stat.S_IMODE(status.st_mode):o}"
        raise NotPrivateError(errno.EPERM, f"{what}; run `chmod go-w` on it if you trust its content", path)
