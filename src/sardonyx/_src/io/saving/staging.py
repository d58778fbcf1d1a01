"""Near-atomic replacement of a group of files.

Each file is written under a temporary name in its directory, flushed to disk, and renamed at the end; a failure
before the first rename leaves every old file unchanged.  Only a power loss between the renames can leave a mix of
new and old files.  Temporary files of a process that was killed are removed by the next save into their directory.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Self

from sardonyx._src.io.external.folders import Folder, is_link
from sardonyx._src.io.saving.file_writer import FileWriter
from sardonyx._src.io.saving.folder_lock import FolderLock, temporary_name
from sardonyx._src.proto.record import Payload


class StagedFile:
    """A file being written under a temporary name; a context manager that flushes it to disk at the end."""

    def __init__(self, folder: Folder, name: str, mode: int, *, flushes: bool = True) -> None:
        self.folder = folder
        self._flushes = flushes
        self.name = name
        self.temporary = temporary_name()
        self.path = os.path.join(folder.path, name)
        with name_in_errors(self.path):
            self._file = io.FileIO(folder.create(self.temporary, mode), "w")
        self._writer = FileWriter(self._file)

    def write(self, data: Payload, /) -> int:
        """Writes all bytes."""
        with name_in_errors(self.path):
            self._writer.write(data)
        return len(data)

    def write_at(self, offset: int, data: memoryview) -> None:
        """Writes all bytes at an offset, whatever the position of the file is; several threads may do so at once."""
        with name_in_errors(self.path):
            while data:
                count = os.pwrite(self._file.fileno(), data, offset)
                data, offset = data[count:], offset + count

    def skip_to(self, offset: int) -> None:
        """Seeks to `offset`; a gap reads as zeros and is sparse where the file system supports it."""
        self._file.seek(offset)

    def rename(self) -> None:
        with name_in_errors(self.path):
            self.folder.rename(self.temporary, self.name)

    def remove(self) -> None:
        self._writer.close()
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self.folder.remove(self.temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with name_in_errors(self.path), self._file:
            self._writer.close()
            if kind is None and self._flushes:
                os.fsync(self._file.fileno())


class Staging:
    """A context manager that creates files; those that `commit` has not renamed are removed at the end.

    Raises OSError, naming the target file, for system errors.
    """

    def __init__(self, folder: str, mode: int = 0o666, *, flushes: bool = True) -> None:
        """folder: the base directory of all names; links in its path are followed.

        mode: the permissions of new files, from which the umask removes bits.
        flushes: whether files are on the disk before they get their names; otherwise a power loss can damage them.
        """
        self._flushes = flushes
        self._base = Folder.from_path(folder)
        self._mode = mode
        self._folders: dict[tuple[str, ...], Folder] = {}
        self._locks: list[FolderLock] = []
        self._staged: list[StagedFile] = []

    def create(self, names: Sequence[str]) -> StagedFile:
        """A new file for the path with the components `names`.

        Missing directories are created; links to directories are rejected.  An existing link at the path is replaced,
        not followed; other hard links to an existing file keep the old content.  Raises FileExistsError if the path
        is a directory, a device or a pipe.
        """
        *folders, name = names
        key = tuple(folders)
        if key not in self._folders:
            self._folders[key] = self._base.reach(folders, make=True)
            self._locks.append(FolderLock(self._folders[key]))
        refuse_special(self._folders[key], name)
        self._staged.append(StagedFile(self._folders[key], name, self._mode, flushes=self._flushes))
        return self._staged[-1]

    def commit(self) -> None:
        """Renames the files to their final names, in the order of creation."""
        while self._staged:
            self._staged[0].rename()
            del self._staged[0]
        for folder in self._folders.values() if self._flushes else ():
            folder.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for staged in self._staged:
            staged.remove()
        for lock in self._locks:
            lock.release()
        for folder in self._folders.values():
            folder.close()
        self._base.close()


def refuse_special(folder: Folder, name: str) -> None:
    """Raises FileExistsError if the target exists and is neither a regular file nor a link."""
    try:
        status = folder.status(name)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) and not is_link(status):
        what = "the target must be a regular file; to write to a device or pipe, open it and pass the file object"
        raise FileExistsError(errno.EEXIST, what, os.path.join(folder.path, name))


@contextlib.contextmanager
def name_in_errors(path: str) -> Iterator[None]:
    """Makes OSErrors raised in the block name the target file instead of the temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
