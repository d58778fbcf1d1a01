"""Sinks, to which results and rejected rows are written; folders of parts are in `parts.py`."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias, cast

from sardonyx._src.errors import InputError
from sardonyx._src.score.model.scorer import Reject, ScoredBatch
from sardonyx._src.score.results.writers import TableWriter, flat_batch, json_line, open_writer
from sardonyx._src.tables.arrow import pa
from sardonyx._src.tables.places import FilePlace, PendingFile

if TYPE_CHECKING:
    from typing_extensions import Buffer

EmptyResult: TypeAlias = Callable[[], "pa.RecordBatch | None"]


@dataclass(frozen=True)
class Progress:
    """The number of rows of the source that were written or rejected, and the number of rejected ones."""

    rows: int = 0
    rejected: int = 0


class Sink(Protocol):
    """Receives scored batches in the order of their rows."""

    def start(self) -> Progress:
        """Open the sink; returns the rows that earlier processes have written."""
        ...

    def write(self, scored: ScoredBatch) -> None: ...

    def finish(self, empty: EmptyResult) -> None:
        """Complete the output; empty: returns the result for no rows, which is written if there were no rows."""
        ...

    def discard(self) -> None:
        """Remove files that are not complete."""
        ...


class TableOutput(Protocol):
    """The output for the batches of one table."""

    def write(self, batch: pa.RecordBatch) -> None: ...

    def finish(self, empty: EmptyResult) -> None:
        """Complete the table; empty: returns the result for no rows, which is written if there were no rows."""
        ...

    def discard(self) -> None:
        """Release what the table holds, before its stream is closed."""
        ...


class StreamOutput:
    """A table that is written to a stream; the first batch determines its schema.

    open: returns the stream.
    name: the name of the stream in messages.
    Raises InputError for columns that the format has no type for, and OSError, with the name, if writing fails.
    """

    def __init__(self, open: Callable[[], BinaryIO], format: str, name: str) -> None:
        self.open, self.format, self.name = open, format, name
        self.writer: TableWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        batch = flat_batch(batch) if self.format == "csv" else batch
        with self.typed_errors():
            if self.writer is None:
                self.writer = open_writer(self.open(), batch.schema, self.format)
            self.writer.write(batch)

    def finish(self, empty: EmptyResult) -> None:
        if self.writer is None and (batch := empty()) is not None:
            self.write(batch)
        if self.writer is not None:
            with self.typed_errors():
                self.writer.close()

    def discard(self) -> None:
        if self.writer is not None:
            with suppress(
                OSError, pa.ArrowException
            ):  # closing may fail for the same reason, such as a full disk
                self.writer.close()

    @contextmanager
    def typed_errors(self) -> Iterator[None]:
        """Converts errors of Arrow in a `with` block to errors of this package."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), self.name) from error
        except pa.ArrowException as error:
            raise InputError(
                f"the columns of {self.name} must be such that {self.format} can hold them: {error}; leave the column out of keep "
                "(--keep), or write another format",
                name="sink",
            ) from error


class BatchList:
    """A table in memory."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.batches.append(batch)

    def finish(self, empty: EmptyResult) -> None:
        if not self.batches and (batch := empty()) is not None:
            self.batches.append(batch)

    def discard(self) -> None:
        self.batches.clear()


class RejectsFile:
    """Rejected rows as JSON lines: row, reason, values."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.file = None if path is None else PendingFile(FilePlace.of(path))

    def start(self) -> None:
        """Open the file, so that a job whose rejects cannot be written fails at its beginning."""
        if self.file is not None:
            self.file.stream.flush()

    def write(self, rejects: tuple[Reject, ...]) -> None:
        if self.file is not None and rejects:
            self.file.stream.write(reject_lines(rejects))

    def finish(self) -> None:
        if self.file is not None:
            self.file.commit()

    def discard(self) -> None:
        if self.file is not None:
            self.file.discard()


def reject_lines(rejects: tuple[Reject, ...]) -> bytes:
    return "".join(json_line(asdict(reject)) for reject in rejects).encode(errors="backslashreplace")


class SingleSink:
    """A sink without parts: a job writes all of it, in one process."""

    def __init__(self, output: TableOutput, rejects: str | os.PathLike[str] | None) -> None:
        self.output, self.rejects = output, RejectsFile(rejects)

    def start(self) -> Progress:
        self.rejects.start()
        return Progress()

    def write(self, scored: ScoredBatch) -> None:
        self.rejects.write(scored.rejects)
        if scored.batch is not None:
            self.output.write(scored.batch)

    def finish(self, empty: EmptyResult) -> None:
        self.output.finish(empty)
        self.rejects.finish()

    def discard(self) -> None:
        self.output.discard()
        self.rejects.discard()


class FileSink(SingleSink):
    """One file, which appears when all rows are written."""

    def __init__(self, path: str, format: str, rejects: str | os.PathLike[str] | None) -> None:
        self.file = PendingFile(FilePlace.of(path))
        super().__init__(StreamOutput(lambda: self.file.stream, format, path), rejects)

    def start(self) -> Progress:
        self.file.stream.flush()
        return super().start()

    def finish(self, empty: EmptyResult) -> None:
        super().finish(empty)
        self.file.commit()

    def discard(self) -> None:
        super().discard()
        self.file.discard()


class ClosableStream(io.RawIOBase):
    """A stream that ignores writes after `cut`: a writer that is released would otherwise complete the table."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream, self.is_cut = stream, False

    def writable(self) -> bool:
        return True

    def write(self, data: Buffer, /) -> int:
        if not self.is_cut:
            self.stream.write(data)
        return memoryview(data).nbytes

    def cut(self) -> None:
        self.is_cut = True


class StreamSink(SingleSink):
    """A stream, such as standard output.

    If the job fails, the stream ends without the end of the table, so that readers do not regard the table as complete.
    """

    def __init__(self, stream: BinaryIO, format: str, rejects: str | os.PathLike[str] | None) -> None:
        self.stream, self.closable = stream, ClosableStream(stream)
        super().__init__(
            StreamOutput(lambda: cast(BinaryIO, self.closable), format, "standard output"), rejects
        )

    def finish(self, empty: EmptyResult) -> None:
        super().finish(empty)
        self.stream.flush()

    def discard(self) -> None:
        self.closable.cut()
        super().discard()


class TableSink(SingleSink):
    """A table in memory."""

    def __init__(self, rejects: str | os.PathLike[str] | None) -> None:
        self.batches = BatchList()
        super().__init__(self.batches, rejects)

    @property
    def table(self) -> pa.Table:
        batches = self.batches.batches
        return pa.Table.from_batches(batches) if batches else pa.table({})
