"""Records: small private files in the cache folder, with what a process found out about other files.

Where the cache folder cannot be written to, as in an image of a container that is mounted read-only, records are written
to a folder for temporary files, and last as long as that.  Records count only in folders that no other user can write to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread
from weakref import WeakSet

from sardonyx._src.compile.llvm.cache import ABANDONED_AFTER, default_folder, open_private, warn_not_private
from sardonyx._src.errors import LimitError
from sardonyx._src.io.private_files import NotPrivateError, make_private_folder, open_private_file
from sardonyx._src.threads import start_thread

BACKGROUND: WeakSet[Thread] = WeakSet()  # threads that write records
MAX_RECORDS = 4096  # in a folder; if there are more, the oldest ones are removed
TEMPORARY = ".tmp"  # suffix of records that are being written


def start_background(target: Callable[[], None], name: str) -> None:
    """Starts a thread that writes records; without a thread there are none.  It does not keep the process from ending."""
    thread = Thread(target=target, name=name, daemon=True)
    with suppress(LimitError):
        start_thread(thread)
        BACKGROUND.add(thread)


def wait_for_records() -> None:
    """Waits for the threads that write records."""
    for thread in [*BACKGROUND]:
        thread.join()


def record_folders(kind: str) -> Iterator[Path]:
    """The folders with records of a kind: in the cache folder, and in that for temporary files; none without a cache."""
    folder = default_folder()
    if folder is None:
        return
    yield folder / kind
    if hasattr(os, "geteuid"):
        # `tempfile.gettempdir` would cost some milliseconds of imports.
        yield Path(os.environ.get("TMPDIR") or "/tmp", f"sardonyx-{os.geteuid()}", kind)


def read_records(kind: str, name: str) -> Iterator[tuple[bytes, int]]:
    """The records of this name, and the times at which they were written, in nanoseconds.

    There may be two: an outdated one in a cache folder that cannot be written to, and one for temporary files.
    """
    for folder in record_folders(kind):
        try:
            with open_private_file(folder / name) as file:
                yield file.read(), os.fstat(file.fileno()).st_mtime_ns
        except OSError as error:
            warn_not_private(error)


def has_record_with(kind: str, prefix: str) -> bool:
    """Whether there is a record of this kind whose name has a prefix."""
    for folder in record_folders(kind):
        with suppress(OSError), os.scandir(folder) as entries:
            if any(entry.name.startswith(prefix) for entry in entries):
                return True
    return False


def touch_record(kind: str, name: str) -> None:
    """Sets the time of the last use of a record to now, where that is possible."""
    for folder in record_folders(kind):
        with suppress(OSError):
            os.utime(folder / name)
            return


def write_record(kind: str, name: str, content: bytes) -> Path | None:
    """Writes a record in the first folder that can be written to; returns its path, or None if there is none."""
    for folder in record_folders(kind):
        path = folder / name
        temporary = path.with_name(f"{os.urandom(8).hex()}{TEMPORARY}")
        try:
            make_private_folder(folder)
            with open(temporary, "xb", opener=open_private) as file:
                file.write(content)
            os.replace(temporary, path)
            trim_records(folder)
        except OSError as error:
            warn_not_private(error)
            with suppress(OSError):
                temporary.unlink()
            if isinstance(error, NotPrivateError):
                return None  # another user owns the folder
            continue
        return path
    return None


def trim_records(folder: Path) -> None:
    """Removes the oldest quarter of the records if there are too many, and what dead writers left."""
    paths = [folder / name for name in os.listdir(folder)]
    for path in paths:
        if path.suffix == TEMPORARY and time.time() - path.lstat().st_mtime > ABANDONED_AFTER:
            path.unlink(missing_ok=True)
    if len(paths) <= MAX_RECORDS:
        return
    paths = sorted((path for path in paths if path.exists()), key=lambda path: path.lstat().st_mtime_ns)
    for path in paths[: len(paths) // 4]:
        path.unlink(missing_ok=True)
