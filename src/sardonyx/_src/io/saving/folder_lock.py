"""Locks on folders, by which temporary files of running saves are distinguished from files that a killed process left.

A save holds a shared lock (flock) on each folder in which it has temporary files.  A process that obtains the exclusive
lock knows that no save is under way there, so that all temporary files are stale.  The system releases the locks of a
process that ends.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time

from sardonyx._src.io.external.folders import Folder

TEMPORARY_NAME = re.compile(r"\.sardonyx-save-[0-9a-f]{16}\.tmp")
# Attempts to obtain a shared lock while another save removes files, and the seconds between them.
ATTEMPTS, PAUSE = 50, 0.002


def temporary_name() -> str:
    """A new name for a temporary file."""
    return f".sardonyx-save-{os.urandom(8).hex()}.tmp"


class FolderLock:
    """A shared lock on a folder; stale temporary files in it are removed first.

    Best effort: without a lock (on Windows, on file systems without flock, in folders that cannot be listed), nothing is
    removed, and saves go on.
    """

    def __init__(self, folder: Folder) -> None:
        self._fd: int | None = None
        if sys.platform == "win32":
            return
        with contextlib.suppress(OSError):
            # Not the folder's own descriptor: if it was opened with O_PATH, it can be neither locked nor listed.
            flags = os.O_RDONLY | os.O_DIRECTORY
            self._fd = os.open(folder.system_path(os.curdir), flags, dir_fd=folder.fd)
            self._remove_stale_files(folder)
            self._share()

    def _remove_stale_files(self, folder: Folder) -> None:
        if sys.platform == "win32" or self._fd is None or not self._lock(exclusive=True):
            return
        for name in filter(TEMPORARY_NAME.fullmatch, os.listdir(self._fd)):
            with contextlib.suppress(OSError):
                folder.remove(name)

    def _share(self) -> None:
        """Obtains the shared lock, in place of an exclusive one; waits for other saves that remove stale files."""
        for _ in range(ATTEMPTS):
            if self._lock(exclusive=False):
                return
            time.sleep(PAUSE)

    def _lock(self, *, exclusive: bool) -> bool:
        """Whether the lock could be obtained at once."""
        if sys.platform == "win32" or self._fd is None:
            return False
        import fcntl  # absent on Windows

        try:
            fcntl.flock(self._fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
