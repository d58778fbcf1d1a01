"""Snapshots of the statistics of a service's processes, and their sum."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import replace

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric

from sardonyx._src.dataclass import dataclass
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.models.statistics import ModelStatistics


@dataclass(frozen=True, slots=True)
class LanguageSnapshot:
    """What the requests of a language model use.

    running: the number of requests that run.
    cache_bytes: the bytes of caches that are kept of earlier prompts.
    """

    running: int
    cache_bytes: int


@dataclass(frozen=True, slots=True)
class ModelSnapshot:
    """The statistics of one version of a model, of one process or summed over several.

    is_ready: whether the version is ready in all of the processes.
    queue_length: the number of requests that wait.
    sequences: the number of sequences in progress; None for a model without states.
    language: what the requests of a language model use; None for any other.
    """

    name: str
    version: str
    is_ready: bool
    queue_length: int
    sequences: int | None
    statistics: ModelStatistics
    language: LanguageSnapshot | None = None


@dataclass(frozen=True, slots=True)
class ProcessSnapshot:
    """The statistics of one process.  usage: its memory, processor time and descriptors as Prometheus metrics."""

    models: tuple[ModelSnapshot, ...]
    usage: tuple[Metric, ...] = ()


def take_snapshot(repository: ModelRepository) -> ProcessSnapshot:
    """The statistics of this process at this moment."""
    return ProcessSnapshot(
        tuple(model_snapshots(repository)), tuple(ProcessCollector(registry=None).collect())
    )


def model_snapshots(repository: ModelRepository) -> Iterator[ModelSnapshot]:
    for name, version, state in repository.states():
        waiting, sequences, snapshot = 0, None, None
        if state.served is not None:
            executor, language = state.served.executor, state.served.language
            waiting = executor.scheduler.queue_length
            sequences = None if executor.sequences is None else len(executor.sequences)
            if language is not None:
                waiting += language.queue.length
                snapshot = LanguageSnapshot(language.queue.running, language.cache_bytes)
        yield ModelSnapshot(
            name, version, state.served is not None, waiting, sequences, state.statistics, snapshot
        )


def sum_models(processes: Iterable[ProcessSnapshot]) -> list[ModelSnapshot]:
    """The models of all processes, each once."""
    total: dict[tuple[str, str], ModelSnapshot] = {}
    for model in (model for process in processes for model in process.models):
        key = model.name, model.version
        total[key] = add_models(total[key], model) if key in total else model
    return list(total.values())


def add_models(a: ModelSnapshot, b: ModelSnapshot) -> ModelSnapshot:
    """The sum of the statistics of one version of a model in two processes."""
    statistics = deepcopy(a.statistics)
    statistics.add(b.statistics)
    sequences = (
        None if a.sequences is None and b.sequences is None else (a.sequences or 0) + (b.sequences or 0)
    )
    return ModelSnapshot(
        a.name,
        a.version,
        a.is_ready and b.is_ready,
        a.queue_length + b.queue_length,
        sequences,
        statistics,
        add_language(a.language, b.language),
    )


def add_language(a: LanguageSnapshot | None, b: LanguageSnapshot | None) -> LanguageSnapshot | None:
    """The sum of what a language model uses in two processes."""
    if a is None or b is None:
        return a or b
    return LanguageSnapshot(a.running + b.running, a.cache_bytes + b.cache_bytes)


def retire(process: ProcessSnapshot) -> ProcessSnapshot:
    """The statistics of a process that has ended.  They remain part of the sums, so that counts of the service never decrease.

    Its models count as ready, so that only the processes that run decide whether a version is.
    """
    return ProcessSnapshot(
        tuple(
            replace(model, is_ready=True, queue_length=0, sequences=None, language=None)
            for model in process.models
        )
    )
