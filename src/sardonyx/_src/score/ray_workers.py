"""Jobs on a cluster of Ray: its workers read and score ranges of rows; this process writes the results, in their order."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sardonyx._src.errors import EvaluationError, InputError, MissingPackage, SardonyxError
from sardonyx._src.score.arrow import ipc, pa
from sardonyx._src.score.file_tables import FileTable
from sardonyx._src.score.opening import open_source
from sardonyx._src.score.options import ScoreOptions
from sardonyx._src.score.scorer import BatchScorer, Reject, ScoredBatch
from sardonyx._src.score.sources import Identity, Source, SourceBatch
from sardonyx._src.score.table_models import TableModel

try:
    import ray
    import ray.data
    from ray.exceptions import RayError
except ImportError:
    raise MissingPackage("scoring on Ray requires ray: pip install sardonyx[ray]", package="ray") from None

CONNECT_SECONDS = 10.0
RANGE_ROWS = 1 << 17  # of a task: seconds of work, and results of megabytes
CPUS = 0.5  # that a worker reserves: there is room for those of a lost node on others, without which Ray would wait for a new one


@dataclass(frozen=True)
class RangeJob:
    """What a worker opens and runs.

    source, format: the files to read, which every worker can open under these names.  identity: theirs, where the job began.
    """

    model: TableModel
    source: list[str]
    format: str | None
    identity: Identity
    options: ScoreOptions
    rejects: bool


@dataclass(frozen=True)
class RangeResult:
    """A ScoredBatch as it is sent.  stream: an Arrow IPC stream, of which slices are only their rows; empty without scored rows."""

    stream: bytes
    rejects: tuple[Reject, ...]
    rows: int

    @classmethod
    def of(cls, parts: list[ScoredBatch]) -> RangeResult:
        """The results of consecutive parts, as those of one."""
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

    job: a pickled RangeJob, since an error while it is unpickled is one of the range.
    """

    def __init__(self, job: bytes, batch_rows: int) -> None:
        self.job, self.batch_rows = job, batch_rows
        self.opened: tuple[Source, BatchScorer] | None = None

    def __call__(self, ranges: pa.Table) -> pa.Table:
        """Ranges, with columns first and rows, with their results: a pickled RangeResult, or an error."""
        results = [self.score_range(part["first"], part["rows"]) for part in ranges.to_pylist()]
        return pa.table({"first": ranges["first"], "results": pa.array(results, pa.large_binary())})

    def score_range(self, first: int, rows: int) -> bytes:
        try:
            source, scorer = self.open()
            parts = read_range(source, scorer.columns, first, rows, self.batch_rows)
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
            scorer = BatchScorer(job.model, source.schema, job.options, rejects=job.rejects)
            if isinstance(source, FileTable):
                source.read_as_dictionaries(scorer.coded_columns)
            self.opened = source, scorer
        return self.opened


def read_range(
    source: Source, columns: list[str], first: int, rows: int, batch_rows: int
) -> Iterator[SourceBatch]:
    """The rows of a source from number `first` on, up to `rows` of them."""
    end = first + rows
    for part in source.read(first, columns, batch_rows):
        yield SourceBatch(part.first, part.batch.slice(0, end - part.first))
        if part.first + part.rows >= end:
            break


def sizes_and_times(identity: Identity) -> Identity:
    """What is known of files in the order of their paths, which may begin elsewhere on another node."""
    return [file[1:] for file in identity]


class RayWorkers:
    """The workers of a cluster, `size` of them, each of one thread."""

    def __init__(self, job: RangeJob, size: int) -> None:
        self.job, self.size = job, size

    def score_rows(self, first: int, end: int, batch_rows: int) -> Iterator[ScoredBatch]:
        """The results of the rows of a range, in their order.  Ray repeats the ranges of workers and nodes that are lost."""
        try:
            results = self.score_ranges(first, end, batch_rows)
            early: dict[int, bytes] = {}  # results of ranges whose predecessors are not complete
            for number, result in results:
                early[number] = result
                while first in early:
                    answer: RangeResult | SardonyxError = pickle.loads(early.pop(first))
                    if isinstance(answer, SardonyxError):
                        raise answer
                    yield answer.scored()
                    first = min(first + RANGE_ROWS, end)
        except RayError as error:
            raise EvaluationError(f"Ray could not complete the job: {error}") from error

    def score_ranges(self, first: int, end: int, batch_rows: int) -> Iterator[tuple[int, bytes]]:
        """The number of the first row of each range, and its pickled results."""
        ranges = [
            {"first": start, "rows": min(RANGE_ROWS, end - start)} for start in range(first, end, RANGE_ROWS)
        ]
        results = ray.data.from_items(ranges, override_num_blocks=len(ranges)).map_batches(
            RangeScorer,
            batch_size=1,
            batch_format="pyarrow",
            compute=ray.data.ActorPoolStrategy(size=min(self.size, len(ranges))),
            num_cpus=CPUS,
            fn_constructor_args=(pickle.dumps(self.job), batch_rows),
        )
        results.context.execution_options.preserve_order = True
        results.context.enable_progress_bars = False
        results.context.print_on_execution_start = False
        for row in results.iter_rows():
            yield row["first"], row["results"]


@contextmanager
def ray_cluster(address: str | None) -> Iterator[int]:
    """The number of processors of a cluster: the one that this process uses, or that of an address.

    None: that of RAY_ADDRESS, one that runs on this machine, or a new one, which ends with the context.
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
    """Raises OSError if nothing answers on HOST:PORT, for which Ray would wait for minutes; other addresses are left to Ray."""
    host, colon, port = (address or "").rpartition(":")
    if colon and "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
