"""The public functions of scoring; pyarrow is imported at the first call."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sardonyx._src.arguments import (
    require_choice,
    require_flag,
    require_integer,
    require_mapping,
    require_path,
    texts_of,
)
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.score.model.options import NULLS, VECTORS, ColumnMap, Default, Nulls, ScoreOptions, Vectors
from sardonyx._src.tables.formats import FORMATS, STANDARD_STREAM

if TYPE_CHECKING:
    import pyarrow as pa

    from sardonyx._src.score.job.job import Report
    from sardonyx._src.score.job.summary import ScoreResult

MEMORY = 256 << 20


def score(
    model: ModelSource | Session,
    source: object,
    sink: str | os.PathLike[str] | None = None,
    *,
    columns: ColumnMap | None = None,
    outputs: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    vectors: Vectors = "lists",
    nulls: Nulls = "raise",
    defaults: Mapping[str, Default] | None = None,
    rejects: str | os.PathLike[str] | None = None,
    source_format: str | None = None,
    sink_format: str | None = None,
    partition_by: Sequence[str] = (),
    batch_rows: int | None = None,
    memory: int = MEMORY,
    workers: int | None = None,
    restart: bool = False,
    ray: bool | str = False,
    engine: Engine = "auto",
    report: Report | None = None,
) -> ScoreResult:
    """Run a model on the rows of a table, and write its outputs as columns.

    model: a model, or a session, which runs as it was opened.
    source: a path of Parquet, CSV, JSON lines or Arrow IPC files, a folder of such files with or without hive partitions, a list
        of paths, an address such as s3://bucket/folder, "-" for standard input, or a table of pyarrow, pandas or polars.
    sink: a file, a folder, an address, "-" for standard output, or None, which leaves the results in memory as `result.table`.
    source_format, sink_format: "parquet", "csv", "json", "ipc" or "ipc-stream"; by default the format of the suffix.
    columns: for an input, the column that feeds it, or a list of columns that become one [rows, columns] matrix.  By default
        an input is fed by the column of its name; if no column has its name, the only input of a model is fed by all numeric
        columns.
    outputs: the outputs to compute; by default all.
    keep: columns of the source that become columns of the result, too, before the outputs.
    vectors: whether an output of several elements a row becomes a column of lists, "lists", or "columns" named `name_0`,
        `name_1`, ...
    nulls: "raise" makes rows with nulls bad rows, "nan" feeds NaN to inputs of floats.
    defaults: by column, the value that replaces nulls.
    rejects: a file for bad rows, as JSON lines with row, reason and values.  Bad rows are rows with nulls, with lists of a wrong
        length, with text that does not parse, and rows on which the model fails.  By default the first bad row is an error.
    partition_by: columns of the result whose values name the folders of a sink's files, as country=fr/day=2026-11-23, instead of
        being columns of the files: strings, integers, truth values or dates, with at most 1,024 combinations in a part.
    batch_rows: the rows of a run; by default measured.
    memory: the bytes that all batches may need at a time, if `batch_rows` is measured.
    workers: the threads that run the model; by default all processors, or one for a session.
    restart: whether a folder's earlier job is removed.  By default a call with a folder as sink continues an earlier call that
        was killed at any moment.
    ray: True, or the address of a cluster of Ray, scores on the cluster.  True means the cluster that the process has joined, the
        one of RAY_ADDRESS, or a new local one.  `workers` are then workers of the cluster, by default one for each of its
        processors.  They read the source and open the model under the same paths as this process, which writes the results.
        The source must be files of Parquet, Arrow IPC, or CSV and JSON lines without compression.
    engine: as for `sx.Session`.
    report: is called with the status of the job while it runs.

    A file appears when it is complete.  Results are in the order of the rows, within each file if there are partitions; they do
    not depend on `batch_rows`, `workers` or `ray`.
    Raises InputError, what `Session` and its runs raise, OSError for files that cannot be read or written, for example on a full
    disk, and MissingPackage without pyarrow, or without ray.
    """
    options = make_options(columns, outputs, keep, vectors, nulls, defaults)
    require_integer("batch_rows", batch_rows, 1, 1 << 31, optional=True)
    require_integer("memory", memory, 1)
    require_integer("workers", workers, 1, 1024, optional=True)
    require_flag("restart", restart)
    if report is not None and not callable(report):
        raise TypeError(f"report must be a function of a status, or None; got {type(report).__name__}")
    for name, format in (("source_format", source_format), ("sink_format", sink_format)):
        if format is not None:
            require_choice(name, format, FORMATS)
    for name, path in (("sink", sink), ("rejects", rejects)):
        if path is not None:
            require_path(name, path)
    if rejects is not None and os.fspath(rejects) == STANDARD_STREAM:
        raise InputError("rejects (--rejects) must be a file; got '-'", name="rejects")
    if not isinstance(ray, bool | str):
        raise TypeError(f"ray must be True, False or an address; got {type(ray).__name__}")
    partitions = texts_of("partition_by", partition_by)
    from sardonyx._src.score.job.job import JobSettings
    from sardonyx._src.score.job.opening import JobFiles
    from sardonyx._src.score.job.run import run_job, run_ray_job

    files = JobFiles(source, sink, rejects, source_format, sink_format, restart, partitions)
    settings = JobSettings(batch_rows, memory, workers or 0)
    if ray is False:
        return run_job(model, files, options, settings, engine, report)
    return run_ray_job(model, files, options, settings, engine, report, None if ray is True else ray)


def make_options(
    columns: ColumnMap | None,
    outputs: Sequence[str] | None,
    keep: Sequence[str],
    vectors: Vectors,
    nulls: Nulls,
    defaults: Mapping[str, Default] | None,
) -> ScoreOptions:
    """The options of scoring; raises TypeError and InputError for wrong ones."""
    if columns is not None:
        require_mapping("columns", columns, str, (str, list, tuple), "inputs to columns, or to lists of them")
        columns = {
            name: value if isinstance(value, str) else texts_of("columns", value)
            for name, value in columns.items()
        }
    if defaults is not None:
        require_mapping("defaults", defaults, str, (bool, int, float, str), "columns to values")
    require_choice("vectors", vectors, VECTORS)
    require_choice("nulls", nulls, NULLS)
    selected = None if outputs is None else texts_of("outputs", outputs)
    return ScoreOptions(columns or {}, selected, texts_of("keep", keep), vectors, nulls, defaults or {})


class Scorer:
    """A model that turns record batches of columns into record batches of results.

    It is meant for the workers of other engines: `mapInArrow` of Spark, `map_batches` of Ray, functions on data frames.  The
    options are those of `sx.score`; a bad row is an error.  A pickled scorer opens its model again when it is unpickled.
    """

    def __init__(
        self,
        model: ModelSource | Session,
        *,
        columns: ColumnMap | None = None,
        outputs: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        vectors: Vectors = "lists",
        nulls: Nulls = "raise",
        defaults: Mapping[str, Default] | None = None,
        engine: Engine = "auto",
        threads: int | None = None,
    ) -> None:
        self._options = make_options(columns, outputs, keep, vectors, nulls, defaults)
        from sardonyx._src.score.model.table_scorer import TableScorer

        self._scorer = TableScorer(model, self._options, engine, threads)

    def score(self, table: object) -> pa.Table:
        """The results of a table or record batch of pyarrow, or of a data frame of pandas or polars."""
        return self._scorer.score_table(table)

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The results of a record batch, as a record batch."""
        return self._scorer.score_batch(batch)


class Predictor:
    """A classifier or regressor with the methods of scikit-learn's estimators, for data frames and arrays.

    Columns feed the inputs as in `sx.score`; arrays are [rows, features].  A row with a null is an error unless `nulls` or
    `defaults` state a replacement.
    """

    def __init__(
        self,
        model: ModelSource | Session,
        *,
        columns: ColumnMap | None = None,
        nulls: Nulls = "raise",
        defaults: Mapping[str, Default] | None = None,
        engine: Engine = "auto",
        threads: int | None = None,
    ) -> None:
        options = make_options(columns, None, (), "lists", nulls, defaults)
        from sardonyx._src.score.model.predictor import TablePredictor

        self._predictor = TablePredictor(model, options, engine, threads)

    def predict(self, rows: object) -> Array:
        """[rows]: the labels or numbers that the model predicts for a data frame, a table of pyarrow or an array.

        That is the first output; for a model whose only output are probabilities, the class of the largest one.
        """
        return self._predictor.predict(rows)

    def predict_proba(self, rows: object) -> Array:
        """[rows, classes]: the probability of each class; raises InputError for models without such an output."""
        return self._predictor.predict_probabilities(rows)
