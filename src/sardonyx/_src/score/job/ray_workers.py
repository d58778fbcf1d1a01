"""Jobs on a cluster of Ray: its workers read and score ranges of rows, and this process writes the results in order."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NoReturn

from sardonyx._src.errors import EvaluationError, InputError, MissingPackage, SardonyxError
from sardonyx._src.score.job.ranges import SourceRange, drop_rows, split_source
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.score.model.scorer import BatchScorer, Reject, ScoredBatch
from sardonyx._src.score.model.table_models import TableModel
from sardonyx._src.tables.arrow import ipc, pa
from sardonyx._src.tables.file_tables import FileTable
from sardonyx._src.tables.opening import open_source
from sardonyx._src.tables.sources import Identity, Source
from sardonyx._src.tables.text_tables import TextTable

try:
    import ray
    import ray.data
    from ray.exceptions import RayError
except ImportError:
    raise MissingPackage("scoring on Ray requires ray: pip install 'sardonyx[ray]'", package="ray") from None

CONNECT_SECONDS = 10.0
# The share of a processor that a worker reserves: less than one, so that other nodes have room for the workers of a lost node.
# Otherwise Ray would wait for a new node.
CPUS = 0.5


@dataclass(frozen=True)
class RangeJob:
    """The description of a job that workers receive.

    source, format: the files to read; every worker must be able to open them under these names.
    identity, schema: the identity and schema of the files, as this process has read them.
    rejects: whether bad rows are rejected instead of being an error.
    """

    model: TableModel
    source: list[str]
    format: str | None
    identity: Identity
    schema: pa.Schema
    options: ScoreOptions
    rejects: bool


@dataclass(frozen=True)
class RangeResult:
    """A ScoredBatch in the form in which it is sent.

    stream: an Arrow IPC stream of the scored rows, empty if there are none.  Unlike a pickle, it contains only the rows of a
        slice, not the batch from which the slice was taken.
    rows: the number of rows, rejected ones included.
    """

    stream: bytes
    rejects: tuple[Reject, ...]
    rows: int

    @classmethod
    def of(cls, parts: list[ScoredBatch]) -> RangeResult:
        """The results of consecutive parts, joined to one."""
        batches = [part.batch for part in parts if part.batch is not None]
        stream = pa.BufferOutputStream()
        if batches:
            with ipc.new_stream(stream, batches[0].schema) as writer:
                for batch in batches:
                    writer.write_batch(batch)
        rejects = tuple(reject for part in parts for reject in part.rejects)
        return cls(stream.getvalue().to_pybytes(), rejects, sum(part.rows for part in parts))

    def scored(self) -> ScoredBatch:
        batch = None
        if self.stream:
            batch = ipc.open_stream(self.stream).read_all().combine_chunks().to_batches()[0]
        return ScoredBatch(batch, self.rejects, self.rows)


class RangeScorer:
    """A worker, which opens the session and the source once, at its first range.

    job: a pickled RangeJob.  The worker unpickles it when it scores a range, so that an error is reported for that range.
    """

    def __init__(self, job: bytes, batch_rows: int) -> None:
        self.job, self.batch_rows = job, batch_rows
        self.opened: tuple[Source, BatchScorer] | None = None

    def __call__(self, tasks: pa.Table) -> pa.Table:
        """Scores ranges.  tasks: pickled ranges with their numbers.

        Returns, for each number, a pickled RangeResult or a pickled error.
        """
        results = [self.score_range(pickle.loads(range)) for range in tasks["range"].to_pylist()]
        return pa.table({"number": tasks["number"], "result": pa.array(results, pa.large_binary())})

    def score_range(self, range: SourceRange) -> bytes:
        try:
            source, scorer = self.open()
            parts = range.read(source, scorer.columns, self.batch_rows)
            return pickle.dumps(RangeResult.of([scorer.score_part(part) for part in parts]))
        except SardonyxError as error:
            return pickle.dumps(error)

    def open(self) -> tuple[Source, BatchScorer]:
        if self.opened is None:
            job: RangeJob = pickle.loads(self.job)
            source = open_source(job.source, job.format)
            if sizes_and_times(source.identity) != sizes_and_times(job.identity):
                raise InputError(
                    f"the source must be the same files on every node; {job.source[0]!r} has others",
                    name="source",
                )
            if isinstance(source, TextTable | FileTable):
                source.set_types({field.name: field.type for field in job.schema})
            scorer = BatchScorer(job.model, source.schema, job.options, rejects=job.rejects)
            if isinstance(source, FileTable):
                source.read_as_dictionaries(scorer.coded_columns)
            self.opened = source, scorer
        return self.opened


def sizes_and_times(identity: Identity) -> Identity:
    """The identity of files without their paths, which may differ on another node; files stay in the order of their paths."""
    return [file[1:] for file in identity]


class RayWorkers:
    """The workers of a cluster, each with one thread.

    source, scorer: those of this process.
    size: the number of workers.
    """

    def __init__(self, job: RangeJob, source: FileTable | TextTable, scorer: BatchScorer, size: int) -> None:
        self.job, self.source, self.scorer, self.size = job, source, scorer, size

    def score_rows(self, first: int, batch_rows: int) -> Iterator[ScoredBatch]:
        """The results of the rows from number `first` on.  Ray repeats ranges of workers and nodes that are lost."""
        start, ranges = split_source(self.source, first, self.scorer.columns)
        try:
            for part, answer in zip(ranges, self.score_ranges(ranges, batch_rows), strict=True):
                if isinstance(answer, SardonyxError):
                    self.raise_error(answer, part, start, batch_rows)
                scored = answer.scored()
                rows = scored.rows
                scored = drop_rows(scored, first - start) if start < first else scored
                yield scored if part.first is not None else renumber(scored, start)
                start += rows
        except RayError as error:
            raise EvaluationError(f"Ray could not complete the job: {error}") from error

    def raise_error(self, error: SardonyxError, part: SourceRange, start: int, batch_rows: int) -> NoReturn:
        """Raises the error of a range.

        A range of text is first scored again by this process, which knows the number of its first row, for a message with the
        number of the bad row.
        """
        if part.first is None:
            for batch in part.read(self.source, self.scorer.columns, batch_rows):
                self.scorer.score_part(replace(batch, first=batch.first + start))
        raise error

    def score_ranges(
        self, ranges: Sequence[SourceRange], batch_rows: int
    ) -> Iterator[RangeResult | SardonyxError]:
        """The results of ranges, in their order."""
        if not ranges:
            return
        tasks = [{"number": number, "range": pickle.dumps(part)} for number, part in enumerate(ranges)]
        results = ray.data.from_items(tasks, override_num_blocks=len(tasks)).map_batches(
            RangeScorer,
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=min(self.size, len(tasks))),
            num_cpus=CPUS,
            fn_constructor_args=(pickle.dumps(self.job), batch_rows),
        )
        results.context.execution_options.preserve_order = True
        results.context.enable_progress_bars = False
        results.context.print_on_execution_start = False
        early: dict[int, bytes] = {}  # results of ranges that wait for the results of earlier ranges
        number = 0
        for row in results.iter_rows():
            early[row["number"]] = row["result"]
            while number in early:
                yield pickle.loads(early.pop(number))
                number += 1


def renumber(scored: ScoredBatch, start: int) -> ScoredBatch:
    """The results of a range with rejects numbered as in the source; start: the number of the range's first row."""
    return replace(
        scored, rejects=tuple(replace(reject, row=reject.row + start) for reject in scored.rejects)
    )


@contextmanager
def ray_cluster(address: str | None) -> Iterator[int]:
    """Joins a cluster for the duration of a `with` block; yields its number of processors.

    address: the address of the cluster; None for the cluster that this process has joined, the one of RAY_ADDRESS, one that
        runs on this machine, or a new one, which ends with the block.
    """
    is_ours = not ray.is_initialized()
    if not is_ours and address not in (None, joined := ray.get_runtime_context().gcs_address):
        raise InputError(
            f"ray must be the cluster that this process has joined, {joined!r}; got {address!r}", name="ray"
        )
    if is_ours:
        try:
            require_listener(address)
            ray.init(address, log_to_driver=False, logging_level="warning")
        except (RayError, OSError, OverflowError, RuntimeError, ValueError) as error:
            raise InputError(
                f"ray must be the address of a cluster that can be reached; got {address!r}: {error}",
                name="ray",
            ) from error
    try:
        yield max(int(ray.cluster_resources().get("CPU", 1)), 1)
    finally:
        if is_ours:
            ray.shutdown()


def require_listener(address: str | None) -> None:
    """Raises OSError if nothing answers at HOST:PORT: Ray would wait for minutes.  Addresses of other forms are not checked."""
    host, colon, port = (address or "").rpartition(":")
    if colon and "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
