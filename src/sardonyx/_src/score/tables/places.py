"""Places of files: paths and addresses of object stores, and files that appear only when they are complete."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import BinaryIO

from sardonyx._src.errors import InputError
from sardonyx._src.score.tables.arrow import fs, pa

PENDING = ".pending"  # the suffix of a file that is being written; hidden names are not read as tables


class FilePlace:
    """A path of a file system of Arrow."""

    def __init__(self, filesystem: fs.FileSystem, path: str) -> None:
        self.filesystem, self.path = filesystem, path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> FilePlace:
        """The place that a path or an address, as s3://bucket/folder, names; raises InputError for others."""
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
        """The place of a file or folder in this folder."""
        return FilePlace(self.filesystem, f"{self.path.rstrip('/')}/{name}")

    def sibling(self, name: str) -> FilePlace:
        return FilePlace(self.filesystem, f"{self.path.rstrip('/').rpartition('/')[0]}/{name}")

    def exists(self) -> bool:
        return bool(self.filesystem.get_file_info(self.path).type != fs.FileType.NotFound)

    def ignores_case(self) -> bool:
        """Whether this file or folder, which exists, is found by its name in other letters, too."""
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
        """The names of the folders between a folder and this file in it, and that of the file."""
        return self.path.strip("/").removeprefix(folder.path.strip("/") + "/").split("/")

    def files(self) -> list[FilePlace]:
        """This file, or all files below this folder in the order of their paths, hidden ones left out."""
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
        """Write a file that is never seen half written."""
        with PendingFile(self).completed() as stream:
            stream.write(data)


class PendingFile:
    """A file under another name until `commit`, so that whoever finds it finds it complete; nothing before `stream` is used."""

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
        """The stream of a file that is complete, or removed, after the block."""
        try:
            yield self.stream
            self.commit()
        except BaseException:
            self.discard()
            raise

    def commit(self) -> None:
        """Make the file appear, on local disks after its bytes have reached the disk."""
        self.stream.close()
        if self.place.is_local:
            with open(self.temporary.path, "rb") as file:
                os.fsync(file.fileno())
        self.place.filesystem.move(self.temporary.path, self.place.path)

    def discard(self) -> None:
        """Remove the file; a disk that is full does not take what is left to write."""
        if "stream" not in self.__dict__:
            return
        with suppress(OSError, pa.ArrowException):
            self.stream.close()
        if self.temporary.exists():
            self.temporary.remove()
