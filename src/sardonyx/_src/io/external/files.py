"""External data files of a model, each opened once, and the byte ranges of its tensors in them."""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

from sardonyx._src import dtypes
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io import mapped_files
from sardonyx._src.io.external.entries import Reference, brief, read_entries
from sardonyx._src.io.external.opening import Policy, canonical_location, open_data, open_error_message
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.mapped_files import MappedFile, mapped_file_behind

if TYPE_CHECKING:
    from sardonyx._src.io.external.contents import Contents


SHA1_PATTERN = re.compile("[0-9a-f]{40}")
# Whether this thread uses mapped data before their checksum is verified, and discards its results if that fails.
IS_VERIFICATION_DEFERRED = ContextVar("IS_VERIFICATION_DEFERRED", default=False)
SKIP_VERIFICATION = "pass verify_checksums=False (--no-verify-checksums) to use the data as they are"


class ExternalFiles:
    """The external data files of one model: the resolver shared by all its tensors.

    `copy=False` maps files: bytes are read when they are first used.  Files of up to 64 KiB, and of up to 16 MiB in total,
    are read.  A mapped file must not be shortened or overwritten while the model is in use: using a tensor afterwards
    raises FileChanged, but reading missing bytes through an array obtained before terminates the process (SIGBUS).
    `copy=True` reads each tensor into memory when it is first used.

    `verify_checksums`: whether the checksum that a tensor states is verified before its data are used.

    `notes` lists what was ignored.  Thread-safe.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None,
        policy: Policy | str = Policy.HUB,
        *,
        copy: bool = False,
        verify_checksums: bool = True,
    ) -> None:
        """`model_path`: the model file, whose directory contains the data; None for a model not loaded from a file."""
        # Absolute, so that it does not depend on the later working directory; not normalized, because `link/..`
        # is not the directory that contains `link`.
        self.model = None if model_path is None else os.path.join(os.getcwd(), os.fspath(model_path))
        self.policy = Policy(policy)
        self.copy = copy
        self.verify_checksums = verify_checksums
        self.notes: list[str] = []
        self._open: dict[str, Contents] = {}
        # Bytes that further files may have in memory instead of a map.
        self._read_up_to = mapped_files.READ_UP_TO_BYTES
        self._lock = threading.Lock()

    def storage(
        self, entries: Sequence[tuple[str, str]], dtype: DataType, shape: tuple[int, ...], where: str
    ) -> ExternalStorage:
        """The storage of an external tensor; opens no file, so that a model can be inspected without its data.

        `entries`: `external_data` as pairs of key and value.  Raises ExternalDataError, located at `where`, for
        invalid entries, a location that the policy rejects, strings (which have no raw data), and a length that
        does not match `dtype` and `shape`.
        """
        reference = read_entries(entries, where)
        if dtype is DataType.STRING:
            raise ExternalDataError(
                "an external tensor must not have element type string; got string; store it in string_data",
                location=where,
            )
        expected_bytes = dtypes.nbytes(dtype, dtypes.element_count(shape))
        if reference.length not in (None, expected_bytes):
            dims = ",".join(map(str, shape[:16])) + (",..." if len(shape) > 16 else "")
            what = f"length of {dtype.text}[{dims}] must be {expected_bytes} bytes; got {reference.length}"
            raise ExternalDataError(f"{what}; correct the dims or the length", location=where)
        if reference.extra:
            keys = ", ".join(brief(key) for key, _ in reference.extra[:4])
            more = f" and {len(reference.extra) - 4} more" if len(reference.extra) > 4 else ""
            self.notes.append(
                f"{where}: external_data keys that ONNX does not define are ignored: {keys}{more}"
            )
        name = canonical_location(reference.location, self.policy, where)
        return ExternalStorage(self, name, reference, expected_bytes, where)

    def contents(self, name: str, where: str) -> Contents:
        """The contents of the file at a canonical location, opened by the first call."""
        with self._lock:
            contents = self._open.get(name)
            if contents is None:
                contents = self._open[name] = self.open_contents_at(name, where)
            return contents

    def open_contents_at(self, name: str, where: str) -> Contents:
        from sardonyx._src.io.external.contents import open_contents  # lazy: few models have external data

        if self.model is None:
            what = "a model with external data must have a directory"
            cure = "load the model by its path"
            raise ExternalDataError(
                f"{what}; got {brief(name)} in a model not loaded from a file; {cure}", location=where
            )
        fd, size = open_data(self.model, name, self.policy, where)
        try:
            path = os.path.join(os.path.dirname(self.model), name)
            contents = open_contents(io.FileIO(fd), size, path, copy=self.copy, read_up_to=self._read_up_to)
        except OSError as error:
            raise ExternalDataError(open_error_message(error, self.model, name), location=where) from error
        if not self.copy and contents.mapped_file is None:
            self._read_up_to -= size
        return contents

    def mapped_files(self) -> tuple[MappedFile, ...]:
        """The maps of the files that were opened so far."""
        with self._lock:
            owners = [contents.mapped_file for contents in self._open.values()]
        return tuple(owner for owner in owners if owner is not None)


class ExternalStorage:
    """Packed elements of a tensor in an external data file.

    `length` is None if the entries do not state it; the dims then determine it.  `checksum` and `basepath` are "" if
    not stated.  `basepath` is informative only: exporters store their own directory in it, and locations are always
    relative to the model's directory.  `extra` has the entries of other keys, as pairs.
    """

    __slots__ = (
        "_data",
        "_name",
        "_nbytes",
        "_where",
        "basepath",
        "checksum",
        "extra",
        "files",
        "length",
        "location",
        "offset",
    )

    def __init__(
        self, files: ExternalFiles, name: str, reference: Reference, nbytes: int, where: str
    ) -> None:
        self.files = files
        self.location = reference.location
        self.offset = reference.offset
        self.length = reference.length
        self.checksum = reference.checksum
        self.basepath = reference.basepath
        self.extra = reference.extra
        self._name = name
        self._nbytes = nbytes
        self._where = where
        self._data: memoryview | None = None

    def view(self) -> memoryview:
        """The packed bytes, read-only; a view of the mapped file unless files are copied.

        All access to the elements calls this method.  A stated checksum is verified first, once per version of the file.
        Raises ExternalDataError if the file is missing, rejected by the policy, too short, or has another checksum, and
        FileChanged if it was changed since it was mapped.
        """
        if self._data is None:
            contents = self.contents()
            stamp = contents.stamp()
            self.refuse_short(contents)
            is_deferred = IS_VERIFICATION_DEFERRED.get() and contents.mapped_file is not None
            if self.needs_verification and not is_deferred:
                self.verify()
            self._data = self.read_part(contents, stamp)
        else:
            self.require_unchanged(self._data)
        return self._data

    def require_unchanged(self, data: memoryview) -> None:
        """Raises FileChanged or ExternalDataError if the data are no longer those that were used first."""
        owner = mapped_file_behind(data)
        if owner is None:
            return
        if self.needs_verification:  # the checksum decides whether the content is another one
            owner.require_length()
            if not IS_VERIFICATION_DEFERRED.get():
                self.verify()
        else:
            owner.require_unchanged()

    def contents(self) -> Contents:
        """The whole file; raises ExternalDataError if it is missing or rejected by the policy."""
        return self.files.contents(self._name, self._where)

    def refuse_short(self, contents: Contents) -> None:
        end = self.offset + self._nbytes
        if end > contents.size:
            what = (
                f"{brief(self.location)} must have at least {end} bytes for a tensor at offset {self.offset}"
            )
            what += f"; got {contents.size}"
            raise ExternalDataError(
                f"{what}; the file is truncated or does not belong to the model", location=self._where
            )

    def read_part(self, contents: Contents, stamp: FileStamp | None) -> memoryview:
        """The tensor's bytes.  stamp: the stamp of the file before its checksum was verified."""
        data = contents.part(self.offset, self._nbytes)
        if len(data) < self._nbytes:
            what = f"{brief(self.location)} was truncated after it was opened"
            raise ExternalDataError(f"{what}; load the model again", location=self._where)
        if self.needs_verification and contents.stamp() != stamp:
            what = f"{brief(self.location)} was changed while it was read"
            raise ExternalDataError(f"{what}; load the model again", location=self._where)
        return data

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        return dtypes.unpack(self.view(), dtype, shape)

    @property
    def file(self) -> tuple[int, str, str]:
        """Identifies the file and the checksum that it must have, among the storages of this process."""
        return id(self.files), self._name, self.checksum

    @property
    def needs_verification(self) -> bool:
        """Whether a checksum is stated, and the next use of the data depends on what the file then contains."""
        is_copied = self._data is not None and mapped_file_behind(self._data) is None
        return bool(self.checksum) and self.files.verify_checksums and not is_copied

    def verify(self) -> bool:
        """Verifies the checksum of the whole file; False if the entries state none.

        The file is hashed once for all its tensors, and again only if it was changed.  Raises ExternalDataError if
        the checksum is not a SHA-1, the SHA-1 differs, or the file cannot be read.
        """
        if not self.checksum:
            return False
        stated = self.checksum.strip().lower()
        if not SHA1_PATTERN.fullmatch(stated):
            what = f"the checksum of external_data must be a SHA-1, 40 hexadecimal digits; got {brief(self.checksum)}"
            raise ExternalDataError(f"{what}; correct it, or {SKIP_VERIFICATION}", location=self._where)
        actual = self.sha1()
        if actual != stated:
            what = f"the SHA-1 of {brief(self.location)} must be {stated}; got {actual}"
            cure = f"use the file that belongs to the model, or {SKIP_VERIFICATION}"
            raise ExternalDataError(f"{what}; {cure}", location=self._where)
        return True

    def sha1(self) -> str:
        """The SHA-1 of the whole file, in hexadecimal."""
        try:
            return self.contents().sha1()
        except OSError as error:
            what = f"{brief(self.location)} cannot be read: {error.strerror or error}"
            raise ExternalDataError(what, location=self._where) from error

    def __repr__(self) -> str:
        return f"ExternalStorage({self.location!r}, offset={self.offset}, {self._nbytes} bytes)"
