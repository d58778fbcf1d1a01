"""Metrics in the text format of Prometheus, computed from the statistics of models when they are read."""

from __future__ import annotations

import math
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from starlette.types import Receive, Scope, Send

from sardonyx._src.serve.repository import ModelRepository
from sardonyx._src.serve.rest.responses import HttpResponse, send_response
from sardonyx._src.serve.statistics import Histogram, ModelStatistics

LABELS = ("model", "version")
HISTOGRAMS = {
    "request_seconds": "Time from a request's arrival at its model to its response or failure.",
    "wait_seconds": "Time of requests in the queue; those that run at once are not in it.",
    "run_seconds": "Time of runs of batches in worker threads.",
    "batch_rows": "Rows of the batches that ran in worker threads.",
}


class RepositoryCollector(Collector):
    """The metrics of the models of a repository."""

    def __init__(self, repository: ModelRepository) -> None:
        self._repository = repository

    def collect(self) -> Iterator[Metric]:
        yield self._requests()
        yield from (self._histogram(name, text) for name, text in HISTOGRAMS.items())
        yield from self._gauges()

    def _requests(self) -> Metric:
        family = CounterMetricFamily(
            "sardonyx_requests",
            "Requests by outcome: ok, or the kind of failure.",
            labels=(*LABELS, "outcome"),
        )
        for name, version, state in self._repository.states():
            for outcome, count in sorted(state.statistics.outcomes.items()):
                family.add_metric((name, version, outcome), count)
        return family

    def _histogram(self, attribute: str, text: str) -> Metric:
        family = HistogramMetricFamily(f"sardonyx_{attribute}", text, labels=LABELS)
        for name, version, state in self._repository.states():
            histogram = histogram_of(state.statistics, attribute)
            family.add_metric((name, version), cumulative_buckets(histogram), histogram.total)
        return family

    def _gauges(self) -> Iterator[Metric]:
        ready = GaugeMetricFamily(
            "sardonyx_model_ready", "Whether a version of a model is ready.", labels=LABELS
        )
        waiting = GaugeMetricFamily(
            "sardonyx_queue_length", "Requests that wait in the queue.", labels=LABELS
        )
        sequences = GaugeMetricFamily("sardonyx_sequences", "Sequences under way.", labels=LABELS)
        for name, version, state in self._repository.states():
            ready.add_metric((name, version), state.served is not None)
            if state.served is not None:
                executor = state.served.executor
                waiting.add_metric((name, version), executor.scheduler.queue_length)
                if executor.sequences is not None:
                    sequences.add_metric((name, version), len(executor.sequences))
        yield from (ready, waiting, sequences)


def histogram_of(statistics: ModelStatistics, attribute: str) -> Histogram:
    histogram = getattr(statistics, attribute)
    assert isinstance(histogram, Histogram), f"{attribute} is a histogram"
    return histogram


def cumulative_buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Upper bounds, and the numbers of observations up to each."""
    buckets, count = [], 0
    for bound, observations in zip((*histogram.bounds, math.inf), histogram.counts, strict=True):
        count += observations
        buckets.append(("+Inf" if math.isinf(bound) else repr(float(bound)), float(count)))
    return buckets


class MetricsEndpoint:
    """GET /metrics, as an ASGI application."""

    def __init__(self, repository: ModelRepository) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(RepositoryCollector(repository))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        accepted = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
        encoder, content_type = choose_encoder(accepted)
        headers = ((b"content-type", content_type.encode()),)
        await send_response(send, HttpResponse(200, headers, (encoder(self._registry),)))
