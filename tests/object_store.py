"""An object store in memory, as a file system of Arrow: objects by key, no folders, and no renames but copies."""

from __future__ import annotations

import posixpath
import time
from typing import Any

import pyarrow as pa
from pyarrow import fs


class PendingObject:
    """An object being written, as a file of Python: it exists when the file is closed."""

    def __init__(self, store: ObjectStore, key: str) -> None:
        self.store, self.key, self.parts, self.closed = store, key, list[bytes](), False

    def write(self, data: bytes) -> int:
        self.parts.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Nothing is visible before the end."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.store.put(self.key, b"".join(self.parts))


class ObjectStore(fs.FileSystemHandler):  # type: ignore[misc]
    """Objects by key, with the time of their last change."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, int]] = {}

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = (data, time.time_ns())

    def get_type_name(self) -> str:
        return "store"

    def normalize_path(self, path: str) -> str:
        return path.strip("/")

    def info(self, key: str) -> fs.FileInfo:
        key = key.strip("/")
        if key in self.objects:
            data, changed = self.objects[key]
            return fs.FileInfo(key, fs.FileType.File, size=len(data), mtime_ns=changed)
        is_prefix = any(other.startswith(f"{key}/") for other in self.objects)
        return fs.FileInfo(key, fs.FileType.Directory if is_prefix else fs.FileType.NotFound)

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self.info(path) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        base = selector.base_dir.strip("/")
        below = [key for key in self.objects if key.startswith(f"{base}/")]
        if not below and not selector.allow_not_found:
            raise FileNotFoundError(base)
        if selector.recursive:
            return [self.info(key) for key in below]
        return [self.info(f"{base}/{name}") for name in {key[len(base) + 1 :].split("/")[0] for key in below}]

    def create_dir(self, path: str, recursive: bool) -> None:
        """A store has no folders."""

    def delete_dir(self, path: str) -> None:
        for key in [key for key in self.objects if key.startswith(f"{path.strip('/')}/")]:
            del self.objects[key]

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        self.delete_dir(path)

    def delete_root_dir_contents(self) -> None:
        self.objects.clear()

    def delete_file(self, path: str) -> None:
        del self.objects[path.strip("/")]

    def move(self, source: str, target: str) -> None:
        self.copy_file(source, target)
        self.delete_file(source)

    def copy_file(self, source: str, target: str) -> None:
        self.put(target.strip("/"), self.objects[source.strip("/")][0])

    def open_input_stream(self, path: str) -> Any:
        return self.open_input_file(path)

    def open_input_file(self, path: str) -> Any:
        if path.strip("/") not in self.objects:
            raise FileNotFoundError(path)
        return pa.BufferReader(self.objects[path.strip("/")][0])

    def open_output_stream(self, path: str, metadata: object) -> Any:
        return pa.PythonFile(PendingObject(self, posixpath.normpath(path.strip("/"))), mode="w")

    def open_append_stream(self, path: str, metadata: object) -> Any:
        raise NotImplementedError("objects cannot be appended to")
