"""The data files of a model, each opened once, and the tensors' places in them."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Sequence

from sardonyx._src import dtypes
from sardonyx._src.dtypes import Array, DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external.contents import Contents, contents_of
from sardonyx._src.io.external.entries import Reference, brief, read_entries
from sardonyx._src.io.external.opening import Policy, because, canonical, open_data


class ExternalFiles:
    """The files that hold the external data of one model: the one resolver for all its tensors.

    `copy=False` maps files: nothing is read before it is used, and nothing twice.  A mapped file must not be
    shortened by others while the model is in use, because the system ends a process that touches what is gone
    (SIGBUS).  `copy=True` reads each tensor into memory instead, when it is first used.  Files of up to 64 KiB are
    always read.

    `notes` gathers what was ignored.  Safe for use by several threads.
    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None,
        policy: Policy | str = Policy.HUB,
        *,
        copy: bool = False,
    ) -> None:
        """`model_path`: of the model file, beside which the data are; None for a model that came from no file."""
        # Absolute, so that a later change of the working directory changes nothing; not normalised, because
        # `link/..` is not what stands before it.
        self.model = None if model_path is None else os.path.join(os.getcwd(), os.fspath(model_path))
        self.policy = Policy(policy)
        self.copy = copy
        self.notes: list[str] = []
        self._open: dict[str, Contents] = {}
        self._lock = threading.Lock()

    def storage(
        self, entries: Sequence[tuple[str, str]], dtype: DataType, shape: tuple[int, ...], where: str
    ) -> ExternalStorage:
        """Where the elements of a tensor are; opens nothing, so that a model without its data can be looked at.

        `entries`: `external_data` as pairs of key and value.  Raises ExternalDataError, located at `where`, for
        entries that say nothing sensible, a location that the policy refuses, strings (which have no raw data),
        and a length other than `dtype` and `shape` need.
        """
        reference = read_entries(entries, where)
        if dtype is DataType.STRING:
            raise ExternalDataError(
                "strings cannot be external data; string_data is their field", location=where
            )
        wanted = dtypes.nbytes(dtype, dtypes.element_count(shape))
        if reference.length not in (None, wanted):
            dims = ",".join(map(str, shape[:16])) + (",..." if len(shape) > 16 else "")
            what = f"length is {reference.length}, {dtype.text}[{dims}] takes {wanted} bytes"
            raise ExternalDataError(f"{what}; correct the dims or the length", location=where)
        if reference.extra:
            keys = ", ".join(brief(key) for key, _ in reference.extra[:4])
            more = f" and {len(reference.extra) - 4} more" if len(reference.extra) > 4 else ""
            self.notes.append(
                f"{where}: keys of external_data that ONNX does not define are ignored: {keys}{more}"
            )
        name = canonical(reference.location, self.policy, where)
        return ExternalStorage(self, name, reference, wanted, where)

    def contents(self, name: str, where: str) -> Contents:
        """The open file at a canonical location; it is opened at the first call."""
        with self._lock:
            found = self._open.get(name)
            if found is None:
                found = self._open[name] = self.opened(name, where)
            return found

    def opened(self, name: str, where: str) -> Contents:
        if self.model is None:
            what = f"the model was not read from a file, so there is no directory for {brief(name)}"
            raise ExternalDataError(f"{what}; load the model by its path", location=where)
        fd, size = open_data(self.model, name, self.policy, where)
        try:
            return contents_of(io.FileIO(fd), size, copy=self.copy)
        except OSError as error:
            raise ExternalDataError(because(error, self.model, name), location=where) from error


class ExternalStorage:
    """Packed bytes in a data file.

    `length` is what the entries state, or None; without it the data reach as far as the dims need.  `checksum` and
    `basepath` are "" when not stated.  `basepath` is kept for looking at and used for nothing: tools write into it
    the directory that was theirs, and a location starts at the model's directory alone.  `extra` holds entries of
    other keys, as pairs.
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
        """The packed bytes, read-only: of the file itself unless the files are copied.

        Raises ExternalDataError when the file is not there, is refused, or ends too early.
        """
        if self._data is None:
            contents = self.files.contents(self._name, self._where)
            end = self.offset + self._nbytes
            if end > contents.size:
                what = f"{brief(self.location)} has {contents.size} bytes, the tensor takes {self.offset} to {end}"
                raise ExternalDataError(
                    f"{what}; the file is cut short or is another one", location=self._where
                )
            self._data = contents.part(self.offset, self._nbytes)
            if len(self._data) < self._nbytes:
                what = f"{brief(self.location)} was cut short after it was opened"
                raise ExternalDataError(f"{what}; load the model anew", location=self._where)
        return self._data

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        return dtypes.unpack(self.view(), dtype, shape)

    def verify(self) -> bool:
        """Whether the entries state a checksum, which then is that of the whole file.

        The file is hashed once for all its tensors.  Raises ExternalDataError when the SHA-1 is another one, or the
        file cannot be read.
        """
        if not self.checksum:
            return False
        found = self.files.contents(self._name, self._where).sha1()
        if found != self.checksum.strip().lower():
            what = f"{brief(self.location)} has the SHA-1 {found}, the model states {brief(self.checksum)}"
            raise ExternalDataError(f"{what}; get the file that belongs to the model", location=self._where)
        return True

    def __repr__(self) -> str:
        return f"ExternalStorage({self.location!r}, offset={self.offset}, {self._nbytes} bytes)"
