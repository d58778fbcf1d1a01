"""Files that take their places together, when all of them are whole.

Each is written under another name in its own directory, flushed to the disk, and renamed at the end; a failure
before the first renaming leaves every old file as it was.  Between the renamings is the only moment at which a loss
of power can leave new files beside old ones.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from sardonyx._src.io.external.folders import Folder, is_link
from sardonyx._src.proto.record import Payload


class Writer(Protocol):
    """A binary file object, buffered or not."""

    def write(self, data: Payload, /) -> int | None: ...


class Staged:
    """A file that is being written, in a context at whose end it is on the disk under its temporary name."""

    def __init__(self, folder: Folder, name: str) -> None:
        self.folder = folder
        self.name = name
        self.temporary = f".sardonyx-{os.urandom(8).hex()}.tmp"
        self.path = os.path.join(folder.path, name)
        with naming(self.path):
            self._file = io.FileIO(folder.create(self.temporary), "w")

    def write(self, data: Payload, /) -> int:
        """Writes every byte."""
        with naming(self.path):
            write_all(self._file, data)
        return len(data)

    def skip_to(self, offset: int) -> None:
        """Goes to a byte; what lies between it and what is written reads as zeros, and takes no room if it can."""
        self._file.seek(offset)

    def rename(self) -> None:
        with naming(self.path):
            self.folder.rename(self.temporary, self.name)

    def remove(self) -> None:
        self._file.close()
        with contextlib.suppress(FileNotFoundError):
            self.folder.remove(self.temporary)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        with naming(self.path), self._file:
            if kind is None:
                os.fsync(self._file.fileno())


class Staging:
    """A context in which files are created; those that `commit` has not put in place are gone at its end.

    Raises OSError, naming the file that was meant, for whatever the system refuses.
    """

    def __init__(self, folder: str) -> None:
        """`folder`: the directory from which names start; links on the way to it are followed."""
        self._base = Folder.at(folder)
        self._folders: dict[tuple[str, ...], Folder] = {}
        self._staged: list[Staged] = []

    def create(self, names: Sequence[str]) -> Staged:
        """An empty file to write what is to stand under the last name, in the directories before it.

        Missing directories are made; a link in the place of one is refused.  A link in the place of the file is
        replaced and not written through, and of a file with several names the others keep the old content.
        FileExistsError for a directory, a device or a pipe in the place of the file.
        """
        *folders, name = names
        key = tuple(folders)
        if key not in self._folders:
            self._folders[key] = self._base.reach(folders, make=True)
        refuse_special(self._folders[key], name)
        self._staged.append(Staged(self._folders[key], name))
        return self._staged[-1]

    def commit(self) -> None:
        """Puts the files in place, in the order in which they were created."""
        while self._staged:
            self._staged[0].rename()
            del self._staged[0]
        for folder in self._folders.values():
            folder.sync()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for staged in self._staged:
            staged.remove()
        for folder in self._folders.values():
            folder.close()
        self._base.close()


def refuse_special(folder: Folder, name: str) -> None:
    try:
        status = folder.status(name)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode) and not is_link(status):
        what = "stands there and is no regular file; to write into a device or pipe, open it and pass the file object"
        raise FileExistsError(errno.EEXIST, what, os.path.join(folder.path, name))


def write_all(file: Writer, data: Payload) -> None:
    """Writes every byte, also where one call takes only some."""
    rest = memoryview(data).cast("B")
    while rest:
        count = file.write(rest)
        if count is None:
            raise BlockingIOError(
                errno.EAGAIN, "the file object does not say how much it wrote; pass a blocking one"
            )
        rest = rest[count:]


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Makes OSErrors name the file that is meant: not its temporary name, and not nothing."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
