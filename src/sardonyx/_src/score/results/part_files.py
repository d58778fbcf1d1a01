"""The files of one part of a folder sink: a single file, or one for each combination of values of partition columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sardonyx._src.score.results.sinks import StreamOutput
from sardonyx._src.score.results.writers import flat_batch
from sardonyx._src.tables.arrow import pa
from sardonyx._src.tables.formats import CSV
from sardonyx._src.tables.partitions import check_result, split_rows
from sardonyx._src.tables.places import FilePlace, PendingFile

BUFFER_BYTES = 128 << 20  # bytes of rows, which are in memory, after which a part with partitions ends


class PartOutput(Protocol):
    """The output for the rows of a part."""

    @property
    def is_full(self) -> bool:
        """Whether the part should end."""
        ...

    def write(self, batch: pa.RecordBatch) -> None: ...

    def commit(self) -> None:
        """Make all files of the part appear."""
        ...

    def discard(self) -> None: ...


class PartFile:
    """A part that is a single file; it has another name until `commit`."""

    is_full = False

    def __init__(self, place: FilePlace, format: str) -> None:
        self.file = PendingFile(place)
        self.output = StreamOutput(lambda: self.file.stream, format, place.path)

    def write(self, batch: pa.RecordBatch) -> None:
        self.output.write(batch)

    def commit(self) -> None:
        self.output.finish(lambda: None)
        self.file.commit()

    def discard(self) -> None:
        self.output.discard()
        self.file.discard()


class PartitionedPart:
    """A part that is a file of the same name in the folder of each combination of values.

    The rows stay in memory until `commit`, which writes one file after another.  Otherwise a file would have to be open for
    every combination, with buffered rows of its own.
    """

    def __init__(
        self, folder: FilePlace, name: str, format: str, partition_by: Sequence[str], *, ignores_case: bool
    ) -> None:
        self.folder, self.name, self.format, self.partition_by = folder, name, format, partition_by
        self.ignores_case = ignores_case
        self.batches: list[pa.RecordBatch] = []
        self.bytes = 0
        self.file: PartFile | None = None

    @property
    def is_full(self) -> bool:
        return self.bytes >= BUFFER_BYTES

    def write(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        if not self.batches:
            check_result(self.partition_by, batch.schema)
        self.batches.append(flat_batch(batch) if self.format == CSV else batch)
        self.bytes += batch.nbytes

    def commit(self) -> None:
        if not self.batches:
            return
        table = pa.Table.from_batches(self.batches)
        for folder, rows in split_rows(table, self.partition_by, ignores_case=self.ignores_case):
            self.file = PartFile(self.folder.child(folder).child(self.name), self.format)
            for batch in rows.to_batches():
                self.file.write(batch)
            self.file.commit()
            self.file = None

    def discard(self) -> None:
        if self.file is not None:
            self.file.discard()
