"""Runs of jobs, on the threads of this process or on a cluster of Ray."""

from __future__ import annotations

import os
from dataclasses import replace

from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.runtime.limits.cpus import available_cpus
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.score.job.job import Job, JobSettings, Report
from sardonyx._src.score.job.opening import JobFiles, open_job
from sardonyx._src.score.job.summary import ScoreResult
from sardonyx._src.score.model.options import ScoreOptions
from sardonyx._src.tables.file_tables import FileTable
from sardonyx._src.tables.formats import STANDARD_STREAM
from sardonyx._src.tables.text_tables import TextTable


def run_job(
    model: ModelSource | Session,
    files: JobFiles,
    options: ScoreOptions,
    settings: JobSettings,
    engine: Engine,
    report: Report | None,
) -> ScoreResult:
    """Score a source into a sink.  settings: 0 workers means one for each processor, or one if the model is a session."""
    is_open = isinstance(model, Session)
    workers = settings.workers or (1 if is_open else available_cpus())
    scorer, source, sink = open_job(model, files, options, engine)
    return Job(scorer, source, sink, replace(settings, workers=workers)).run(report)


def run_ray_job(
    model: ModelSource | Session,
    files: JobFiles,
    options: ScoreOptions,
    settings: JobSettings,
    engine: Engine,
    report: Report | None,
    address: str | None,
) -> ScoreResult:
    """Score a source into a sink with workers of Ray.  settings: 0 workers means one for each processor of the cluster."""
    paths = shared_paths(files.source)
    if isinstance(model, str | os.PathLike) and "://" not in os.fspath(model):
        model = os.path.abspath(model)
    from sardonyx._src.score.job.ray_workers import RangeJob, RayWorkers, ray_cluster

    scorer, source, sink = open_job(model, files, options, engine)
    if not isinstance(source, FileTable | TextTable) or (
        isinstance(source, TextTable) and not source.has_ranges
    ):
        raise InputError(
            "with ray, the source must be files of which parts can be read, of Parquet, Arrow IPC, or CSV and JSON lines without "
            f"compression; got {paths[0]!r}: decompress it, or write it as Parquet",
            name="source",
        )
    has_rejects = files.rejects is not None
    job = RangeJob(
        scorer.model, paths, files.source_format, source.identity, source.schema, options, has_rejects
    )
    with ray_cluster(address) as processors:
        settings = replace(settings, workers=settings.workers or processors)
        cluster = RayWorkers(job, source, scorer, settings.workers)
        return Job(scorer, source, sink, settings, cluster).run(report)


def shared_paths(source: object) -> list[str]:
    """The absolute paths of a source, since workers run in other folders; raises InputError for sources that are no paths."""
    listed = list(source) if isinstance(source, list | tuple) else [source]
    paths = [os.fspath(path) for path in listed if isinstance(path, str | os.PathLike)]
    if len(paths) < len(listed) or STANDARD_STREAM in paths:
        kind = repr(STANDARD_STREAM) if STANDARD_STREAM in paths else type(source).__name__
        raise InputError(
            f"with ray, the source must be paths of files; got {kind}: write it to a file first",
            name="source",
        )
    return [path if "://" in path else os.path.abspath(path) for path in paths]
