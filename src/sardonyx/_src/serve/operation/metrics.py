"""Metrics in the text format of Prometheus, computed from the statistics of models when they are read."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, PlatformCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.types import Receive, Scope, Send

from sardonyx._src.serve.models.statistics import Histogram, ModelStatistics, TokenStatistics
from sardonyx._src.serve.operation.snapshots import ModelSnapshot, ProcessSnapshot, sum_models
from sardonyx._src.serve.rest.responses import HttpResponse, send_response

LABELS = ("model", "version")
HISTOGRAMS = {
    "request_seconds": "Time from a request's arrival at its model to its response or failure.",
    "wait_seconds": "Time of requests in the queue; those that run at once are not in it.",
    "run_seconds": "Time of runs of batches in worker threads.",
    "batch_rows": "Rows of the batches that ran in worker threads.",
}


TOKEN_COUNTERS = {
    "prompt_tokens": "Tokens of prompts, and of texts whose vectors were computed.",
    "generated_tokens": "Tokens of results.",
}
TOKEN_HISTOGRAMS = {
    "first_token_seconds": "Time from a request's arrival to its first token.",
    "token_seconds": "Time from one token of a request to the next.",
}


class SnapshotCollector(Collector):
    """The metrics of the processes of a service.

    Metrics of models are summed over the processes.  If there are several, metrics of memory, processor time and descriptors
    have the number of the process as a label.
    """

    def __init__(self, processes: Sequence[ProcessSnapshot]) -> None:
        self._processes, self._models = processes, sum_models(processes)

    def collect(self) -> Iterator[Metric]:
        yield self._requests()
        yield from (self._histogram(name, text) for name, text in HISTOGRAMS.items())
        yield from self._gauges()
        yield from self._language()
        yield from self._usage()

    def _requests(self) -> Metric:
        family = CounterMetricFamily(
            "sardonyx_requests",
            "Requests by outcome: ok, or the kind of failure.",
            labels=(*LABELS, "outcome"),
        )
        for model in self._models:
            for outcome, count in sorted(model.statistics.outcomes.items()):
                family.add_metric((model.name, model.version, outcome), count)
        return family

    def _histogram(self, attribute: str, text: str) -> Metric:
        family = HistogramMetricFamily(f"sardonyx_{attribute}", text, labels=LABELS)
        for model in self._models:
            add_histogram(family, model, histogram_of(model.statistics, attribute))
        return family

    def _language(self) -> Iterator[Metric]:
        """The metrics of language models, if there are any."""
        models = [model for model in self._models if model.statistics.tokens is not None]
        if not models:
            return
        for attribute, text in TOKEN_COUNTERS.items():
            counter = CounterMetricFamily(f"sardonyx_{attribute}", text, labels=LABELS)
            for model in models:
                counter.add_metric((model.name, model.version), getattr(model.statistics.tokens, attribute))
            yield counter
        for attribute, text in TOKEN_HISTOGRAMS.items():
            family = HistogramMetricFamily(f"sardonyx_{attribute}", text, labels=LABELS)
            for model in models:
                add_histogram(family, model, histogram_of(model.statistics.tokens, attribute))
            yield family
        running = GaugeMetricFamily(
            "sardonyx_running_texts", "Requests for texts or vectors that run.", labels=LABELS
        )
        caches = GaugeMetricFamily(
            "sardonyx_cache_bytes", "Bytes of caches that are kept of earlier prompts.", labels=LABELS
        )
        for model in models:
            if model.language is not None:
                running.add_metric((model.name, model.version), model.language.running)
                caches.add_metric((model.name, model.version), model.language.cache_bytes)
        yield from (running, caches)

    def _gauges(self) -> Iterator[Metric]:
        ready = GaugeMetricFamily(
            "sardonyx_model_ready", "Whether a version of a model is ready.", labels=LABELS
        )
        waiting = GaugeMetricFamily(
            "sardonyx_queue_length", "Requests that wait in the queue.", labels=LABELS
        )
        sequences = GaugeMetricFamily("sardonyx_sequences", "Sequences under way.", labels=LABELS)
        for model in self._models:
            ready.add_metric((model.name, model.version), model.is_ready)
            if model.is_ready:
                waiting.add_metric((model.name, model.version), model.queue_length)
            if model.sequences is not None:
                sequences.add_metric((model.name, model.version), model.sequences)
        yield from (ready, waiting, sequences)

    def _usage(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        is_one = len(self._processes) == 1
        for number, process in enumerate(self._processes):
            labels = {} if is_one else {"process": str(number)}
            for metric in process.usage:
                family = families.setdefault(
                    metric.name, Metric(metric.name, metric.documentation, metric.type)
                )
                for sample in metric.samples:
                    family.add_sample(sample.name, {**sample.labels, **labels}, sample.value)
        yield from families.values()


def add_histogram(family: HistogramMetricFamily, model: ModelSnapshot, histogram: Histogram) -> None:
    family.add_metric((model.name, model.version), cumulative_buckets(histogram), histogram.total)


def histogram_of(statistics: ModelStatistics | TokenStatistics | None, attribute: str) -> Histogram:
    histogram = getattr(statistics, attribute)
    assert isinstance(histogram, Histogram), f"{attribute} is a histogram"
    return histogram


def cumulative_buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Each upper bound as text, and the number of observations up to that bound."""
    buckets, count = [], 0
    for bound, observations in zip((*histogram.bounds, math.inf), histogram.counts, strict=True):
        count += observations
        buckets.append(("+Inf" if math.isinf(bound) else repr(float(bound)), float(count)))
    return buckets


class MetricsEndpoint:
    """GET /metrics, as an ASGI application.  snapshots: returns the statistics of all processes of the service."""

    def __init__(self, snapshots: Callable[[], Awaitable[Sequence[ProcessSnapshot]]]) -> None:
        self._snapshots = snapshots

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        registry = CollectorRegistry()
        registry.register(SnapshotCollector(await self._snapshots()))
        PlatformCollector(registry=registry)
        accepted = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
        encoder, content_type = choose_encoder(accepted)
        headers = ((b"content-type", content_type.encode()),)
        await send_response(send, HttpResponse(200, headers, (encoder(registry),)))
