"""Folders of parts: the output of jobs that continue after a kill at any moment.

A part has the results of consecutive rows: one file, or one file in each folder of hive partitions.  The files are written under
other names and renamed when they are complete.  Then the record of the part is written, in the folder `_sardonyx`, which readers
of tables skip.  Rows that records cover are never scored again; a part without a record is written again, under the same name.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from sardonyx._src.errors import InputError
from sardonyx._src.score.model.scorer import ScoredBatch
from sardonyx._src.score.results.part_files import PartFile, PartitionedPart, PartOutput
from sardonyx._src.score.results.sinks import EmptyResult, Progress, reject_lines
from sardonyx._src.score.results.writers import SUFFIX_OF
from sardonyx._src.tables.partitions import is_partition_folder
from sardonyx._src.tables.places import PENDING, FilePlace, PendingFile

RECORDS, JOB = "_sardonyx", "job.json"
REMOVED, PARTITION_BY = (
    "removed",
    "partition_by",
)  # fields of the record of a job; REMOVED: whether the job is being removed
PART_NAME = re.compile(r"part-(\d{5,})\.\w+|(\d{5,})\.rejects\.jsonl")
PART_SECONDS = 30.0  # duration after which a part ends, so that a kill loses little work
PART_ROWS = 1 << 20


@dataclass(frozen=True)
class PartRecord:
    """The rows of the source that a complete part covers.

    rows: their number, rejected rows included.
    rejected: the number of rejected rows.
    """

    rows: int
    rejected: int


class FolderSink:
    """A folder of part files.

    job: the facts that identify the job, as values of JSON: a folder of another job is refused.
    rejects: the file for rejected rows, which appears when the job is complete; None if bad rows are errors.
    partition_by: the columns whose values name the folders of the files.
    restart: whether an earlier job in the folder is removed.
    """

    def __init__(
        self,
        folder: FilePlace,
        format: str,
        job: Mapping[str, object],
        rejects: FilePlace | None,
        *,
        partition_by: Sequence[str] = (),
        restart: bool = False,
    ) -> None:
        self.folder, self.format, self.rejects, self.restart = folder, format, rejects, restart
        self.partition_by, self.job = partition_by, {**job, PARTITION_BY: list(partition_by)}
        self.records = folder.child(RECORDS)
        self.number, self.part = 0, PartRecord(0, 0)
        self.output: PartOutput | None = None
        self.reject_text: list[bytes] = []
        self.started = 0.0

    def start(self) -> Progress:
        """Create the folder, or check that it belongs to the same job; returns the rows that complete parts cover."""
        record = self.records.child(JOB)
        job = json.loads(record.read_bytes()) if record.exists() else None
        if job is not None and (self.restart or REMOVED in job):
            self.remove_job(job.get(PARTITION_BY, ()))
            job = None
        if job is None:
            self.refuse_other_files()
            self.records.create_folder()
            record.write_bytes(json.dumps(self.job, indent=1).encode())
        else:
            self.check_job(job)
        complete = self.complete_parts()
        self.number = len(complete)
        self.remove_incomplete()
        return Progress(sum(part.rows for part in complete), sum(part.rejected for part in complete))

    def remove_job(self, partition_by: Sequence[str]) -> None:
        """Remove the parts and records of an earlier job; partition_by: the partition columns of that job.

        The job is first marked, so that the next process completes the removal if this one is killed meanwhile.
        """
        removed = {REMOVED: True, PARTITION_BY: list(partition_by)}
        self.records.child(JOB).write_bytes(json.dumps(removed).encode())
        for file in self.data_files(partition_by):
            if part_number(file.name) is not None or file.name.endswith(PENDING):
                file.remove()
        self.records.remove_folder()

    def remove_incomplete(self) -> None:
        """Remove the files that a killed process has left: pending files, and data and rejects of parts without record."""
        for file in (*self.data_files(self.partition_by), *self.records.children()):
            number = part_number(file.name)
            if file.name.endswith(PENDING) or (number is not None and number >= self.number):
                file.remove()

    def data_files(self, partition_by: Sequence[str]) -> list[FilePlace]:
        """The files in the folder, or in its folders of partitions."""
        if not partition_by:
            return self.folder.children()
        return [
            file
            for file in self.folder.descendants()
            if is_partition_folder(file.names_below(self.folder)[:-1], partition_by)
        ]

    def refuse_other_files(self) -> None:
        """Raises InputError for other files in the folder that readers of tables would read as parts of the result."""
        files = self.folder.descendants() if self.partition_by else self.folder.children()
        paths = [file.names_below(self.folder) for file in files]
        names = sorted("/".join(path) for path in paths if not any(n.startswith((".", "_")) for n in path))
        if names:
            raise InputError(
                f"{self.folder.path} must be empty or of the same job; it has {names[0]!r} and no record of a job",
                name="sink",
            )

    def check_job(self, other: Mapping[str, object]) -> None:
        """Raises InputError for the record of another job."""
        own = json.loads(json.dumps(self.job))
        for key in own:
            if other.get(key) != own[key]:
                raise InputError(
                    f"{self.folder.path} must be empty or of the same job; it is of one with another {key}: write to another "
                    "folder, or start over with restart=True (--restart)",
                    name="sink",
                )

    def complete_parts(self) -> list[PartRecord]:
        """The records of the complete parts, in their order."""
        names = {file.name for file in self.records.children()}
        records: list[PartRecord] = []
        while (name := record_name(len(records))) in names:
            records.append(PartRecord(**json.loads(self.records.child(name).read_bytes())))
        return records

    def write(self, scored: ScoredBatch) -> None:
        if not self.part.rows:
            self.started = time.monotonic()
        self.part = PartRecord(self.part.rows + scored.rows, self.part.rejected + len(scored.rejects))
        if scored.rejects:
            self.reject_text.append(reject_lines(scored.rejects))
        if scored.batch is not None:
            self.open_part().write(scored.batch)
        is_full = self.output is not None and self.output.is_full
        if is_full or self.part.rows >= PART_ROWS or time.monotonic() - self.started >= PART_SECONDS:
            self.commit()

    def open_part(self) -> PartOutput:
        if self.output is None:
            self.output = self.create_part(f"part-{self.number:05d}{SUFFIX_OF[self.format]}")
        return self.output

    def create_part(self, name: str) -> PartOutput:
        if not self.partition_by:
            return PartFile(self.folder.child(name), self.format)
        ignores_case = self.records.ignores_case()
        return PartitionedPart(self.folder, name, self.format, self.partition_by, ignores_case=ignores_case)

    def commit(self) -> None:
        """Complete the part: its data and rejects, then its record."""
        if self.output is not None:
            self.output.commit()
        if self.reject_text:
            self.records.child(rejects_name(self.number)).write_bytes(b"".join(self.reject_text))
        self.records.child(record_name(self.number)).write_bytes(json.dumps(asdict(self.part)).encode())
        self.number, self.part = self.number + 1, PartRecord(0, 0)
        self.output, self.reject_text = None, []

    def finish(self, empty: EmptyResult) -> None:
        if not self.number and not self.part.rows and (batch := empty()) is not None:
            self.open_part().write(batch)
        if self.part.rows or self.output is not None:
            self.commit()
        if self.rejects is not None:
            self.join_rejects(self.rejects)

    def join_rejects(self, place: FilePlace) -> None:
        """Write the rejects of all parts to one file."""
        names = {file.name for file in self.records.children()}
        with PendingFile(place).completed() as stream:
            for number in range(self.number):
                if rejects_name(number) in names:
                    stream.write(self.records.child(rejects_name(number)).read_bytes())

    def discard(self) -> None:
        if self.output is not None:
            self.output.discard()


def part_number(name: str) -> int | None:
    """The number of the part whose data or rejects a file has; None for other files."""
    match = PART_NAME.fullmatch(name)
    return None if match is None else int(match[1] or match[2])


def record_name(number: int) -> str:
    return f"{number:05d}.json"


def rejects_name(number: int) -> str:
    return f"{number:05d}.rejects.jsonl"
