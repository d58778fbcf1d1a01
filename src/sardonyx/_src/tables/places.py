"""Paths of files, on disks and in object stores, and files that appear only when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import BinaryIO

from sardonyx._src.errors import InputError
from sardonyx._src.tables.arrow import fs, pa

PENDING = ".pending"  # the suffix of a file that is being written; hidden names are not read as tables


class FilePlace:
    """A path of a file or folder in a file system of Arrow."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        self.filesystem, self.path = filesystem, path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FilePlace:
        """The file or folder of a path or of an address such as s3://bucket/folder; raises InputError for anything else."""
        text = os.fspath(path)
        if "://" not in text:
            return cls(fs.LocalFileSystem(), os.path.abspath(text))
        try:
            return cls(*fs.FileSystem.from_uri(text))
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InputError(f"{text!r} must be an address that Arrow can open: {error}", name=text) from None

    @property
    def is_local(self) -> bool:
        return isinstance(self.filesystem, fs.LocalFileSystem)

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    def child(self, name: str) -> FilePlace:
        """A file or folder in this folder."""
        return FilePlace(self.filesystem, f"{self.path.rstrip('/')}/{name}")

    def sibling(self, name: str) -> FilePlace:
        return FilePlace(self.filesystem, f"{self.path.rstrip('/').rpartition('/')[0]}/{name}")

    def exists(self) -> bool:
        return bool(self.filesystem.get_file_info(self.path).type != fs.FileType.NotFound)

    def ignores_case(self) -> bool:
        """Whether the file system ignores case: whether this file or folder, which must exist, is also found in another case."""
        return self.is_local and self.sibling(self.name.swapcase()).exists()

    def is_folder(self) -> bool:
        return bool(self.filesystem.get_file_info(self.path).type == fs.FileType.Directory)

    def size(self) -> int:
        return int(self.filesystem.get_file_info(self.path).size or 0)

    def children(self) -> list[FilePlace]:
        """The files of this folder; nothing if it does not exist."""
        return self.listed_files(recursive=False)

    def descendants(self) -> list[FilePlace]:
        """All files below this folder, hidden ones included; nothing if it does not exist."""
        return self.listed_files(recursive=True)

    def listed_files(self, *, recursive: bool) -> list[FilePlace]:
        selector = fs.FileSelector(self.path, allow_not_found=True, recursive=recursive)
        infos = self.filesystem.get_file_info(selector)
        return [FilePlace(self.filesystem, info.path) for info in infos if info.type == fs.FileType.File]

    def names_below(self, folder: FilePlace) -> list[str]:
        """The names of the folders between `folder` and this file, and the name of the file."""
        return self.path.strip("/").removeprefix(folder.path.strip("/") + "/").split("/")

    def files(self) -> list[FilePlace]:
        """This file, or all files below this folder in the order of their paths, without hidden ones."""
        if not self.is_folder():
            return [self]
        infos = self.filesystem.get_file_info(fs.FileSelector(self.path, recursive=True))
        paths = sorted(info.path for info in infos if info.type == fs.FileType.File)
        inner = ((path, path.removeprefix(self.path).split("/")) for path in paths)
        return [
            FilePlace(self.filesystem, path)
            for path, names in inner
            if not any(n.startswith((".", "_")) for n in names)
        ]

    def identity(self) -> list[object]:
        """The path, the size and the time of the last change."""
        info = self.filesystem.get_file_info(self.path)
        return [info.path, info.size, info.mtime_ns or 0]

    def create_folder(self) -> None:
        self.filesystem.create_dir(self.path, recursive=True)

    def remove(self) -> None:
        self.filesystem.delete_file(self.path)

    def remove_folder(self) -> None:
        self.filesystem.delete_dir(self.path)

    def read_bytes(self) -> bytes:
        with self.filesystem.open_input_stream(self.path, compression=None) as file:
            return bytes(file.read())

    def write_bytes(self, data: bytes) -> None:
        """Write a file that appears only when it is complete."""
        with PendingFile(self).completed() as stream:
            stream.write(data)


class PendingFile:
    """A file with another name until `commit`, so that it appears only when it is complete; `stream` creates it at first use."""

    def __init__(self, place: FilePlace) -> None:
        self.place, self.temporary = place, place.sibling(f".{place.name}{PENDING}")
        if place.is_folder():
            raise InputError(f"{place.path} must be a file; got a folder", name=place.path)

    @cached_property
    def stream(self) -> BinaryIO:
        self.place.sibling("").create_folder()
        stream: BinaryIO = self.place.filesystem.open_output_stream(self.temporary.path, compression=None)
        return stream

    @contextmanager
    def completed(self) -> Iterator[BinaryIO]:
        """Yields the stream; after the `with` block the file is complete or, after an error, removed."""
        try:
            yield self.stream
            self.commit()
        except BaseException:
            self.discard()
            raise

    def commit(self) -> None:
        """Give the file its name; on local disks, only after its bytes have reached the disk."""
        self.stream.close()
        if self.place.is_local:
            with open(self.temporary.path, "rb") as file:
                os.fsync(file.fileno())
        self.place.filesystem.move(self.temporary.path, self.place.path)

    def discard(self) -> None:
        """Remove the file; errors of closing it are ignored, since a full disk cannot hold the buffered rest."""
        if "stream" not in self.__dict__:
            return
        with suppress(OSError, pa.ArrowException):
            self.stream.close()
        if self.temporary.exists():
            self.temporary.remove()
