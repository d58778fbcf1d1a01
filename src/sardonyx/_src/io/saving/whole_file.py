"""Files that are written as a whole: a full disk or an end of the process leaves what was there before."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.io.saving.folder_lock import temporary_name


@contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` at the end of the block, with the permissions of what was there.

    What is no regular file, such as a device or a pipe, is written directly.  Raises OSError, which names the path.
    """
    target = Path(os.path.realpath(path))
    is_whole = target.is_file() or not target.exists()
    written = target.with_name(temporary_name()) if is_whole else target
    try:
        with open(written, "xb" if is_whole else "wb") as file:
            yield file
        if is_whole:
            if target.exists():
                written.chmod(stat.S_IMODE(target.stat().st_mode))
            written.replace(target)
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        if is_whole:
            with suppress(OSError):  # of a block that failed
                written.unlink()
