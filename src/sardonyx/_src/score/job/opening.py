"""Opening of the scorer, the source and the sink of a job, as callers name them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.score.job.partition_columns import check_partition_columns
from sardonyx._src.score.model.inputs import plan_inputs
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.score.model.scorer import BatchScorer
from sardonyx._src.score.model.table_models import TableModel, open_model
from sardonyx._src.score.results.collisions import refuse_collisions
from sardonyx._src.score.results.parts import FolderSink
from sardonyx._src.score.results.sinks import FileSink, Sink, StreamSink, TableSink
from sardonyx._src.tables.arrow import pa
from sardonyx._src.tables.file_tables import FileTable
from sardonyx._src.tables.formats import STANDARD_STREAM, format_of, is_folder
from sardonyx._src.tables.opening import open_source
from sardonyx._src.tables.partitions import OPTION
from sardonyx._src.tables.places import FilePlace
from sardonyx._src.tables.sources import Source
from sardonyx._src.tables.text_tables import TextTable
from sardonyx._src.tables.text_types import fed_type
from sardonyx._src.train.fit.run_identity import digest_of

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class JobFiles:
    """The source, the sink and the rejects of a job, as `sx.score` receives them.

    source_format, sink_format: None for the format of the suffix.
    restart: whether an earlier job in the sink's folder is removed.
    partition_by: the columns whose values name the folders of the sink's files.
    """

    source: object
    sink: PathLike | None
    rejects: PathLike | None
    source_format: str | None
    sink_format: str | None
    restart: bool
    partition_by: tuple[str, ...]


def open_job(
    model: ModelSource | Session, files: JobFiles, options: ScoreOptions, engine: Engine
) -> tuple[BatchScorer, Source, Sink]:
    """The scorer, the source and the sink of a job."""
    refuse_collisions(files.source, files.sink, files.rejects)
    if files.partition_by:
        require_folder(files.sink)
    source = open_source(files.source, files.source_format)
    table_model = open_model(model, engine, threads=1)
    if isinstance(source, TextTable | FileTable):
        source.set_types(fed_types(table_model, source, options))
    scorer = BatchScorer(table_model, source.schema, options, rejects=files.rejects is not None)
    if isinstance(source, FileTable):
        source.read_as_dictionaries(scorer.coded_columns)
    if files.partition_by:
        check_partition_columns(files.partition_by, scorer, source.schema)
    return scorer, source, open_sink(files, lambda: identify_job(model, source, scorer))


def require_folder(sink: PathLike | None) -> None:
    """Raises InputError for a sink that cannot have partitions."""
    path = None if sink is None else os.fspath(sink)
    if path is None or not is_folder(path):
        shown = "none" if path is None else repr(path)
        raise InputError(
            f"{OPTION} requires a folder as the sink; got {shown}: name a folder, as 'scored/'", name="sink"
        )


def fed_types(
    model: TableModel, source: TextTable | FileTable, options: ScoreOptions
) -> dict[str, pa.DataType]:
    """The types of columns of text, as the inputs that they feed require.

    A column that feeds several inputs has an integer type if one of them has.
    """
    plans = plan_inputs(model, source.schema, options.columns)
    return {
        column: fed_type(
            source.schema.field(column).type,
            plan.dtype,
            is_untyped=source.is_untyped(column),
            is_kept=column in options.keep,
        )
        for plan in sorted(plans, key=lambda plan: plan.dtype.is_integer)
        for column in plan.columns
        if isinstance(source, TextTable) or source.is_untyped(column)
    }


def open_sink(files: JobFiles, identify: Callable[[], dict[str, object]]) -> Sink:
    """The sink that a path names.  identify: returns the facts that identify the job, so that a folder continues only this job."""
    if files.sink is None:
        return TableSink(files.rejects)
    path = os.fspath(files.sink)
    if path == STANDARD_STREAM:
        return StreamSink(sys.stdout.buffer, format_of(path, files.sink_format, "sink_format"), files.rejects)
    format = format_of(path, files.sink_format, "sink_format")
    if not is_folder(path):
        return FileSink(path, format, files.rejects)
    rejects = None if files.rejects is None else FilePlace.of(files.rejects)
    job = {**identify(), "format": format, "rejects": rejects is not None}
    return FolderSink(
        FilePlace.of(path), format, job, rejects, partition_by=files.partition_by, restart=files.restart
    )


def identify_job(model: ModelSource | Session, source: Source, scorer: BatchScorer) -> dict[str, object]:
    """The facts that decide the results of a job: the source, the model, the options and the engine."""
    if isinstance(model, str | os.PathLike) and os.fspath(model).endswith(".sdx"):
        digest = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    else:
        digest = digest_of(scorer.session.model)
    return {
        "source": [list(file) for file in source.identity],
        "columns": [f"{name}: {source.schema.field(name).type}" for name in scorer.columns],
        "model": digest,
        "engine": scorer.session.engine,
        "options": scorer.options.as_json(),
    }
