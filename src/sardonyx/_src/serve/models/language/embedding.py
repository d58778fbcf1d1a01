"""Vectors of texts by a served model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sardonyx._src.generate.embedder import Embedder
from sardonyx._src.ir import Array
from sardonyx._src.serve.models.language.admission import AdmissionQueue
from sardonyx._src.serve.models.language.outcomes import recorded
from sardonyx._src.serve.models.scheduler.options import SchedulerOptions
from sardonyx._src.serve.models.statistics import ModelStatistics, TokenStatistics


class TextEmbedding:
    """The requests for vectors of one model.  All methods are called on the event loop."""

    def __init__(self, embedder: Embedder, options: SchedulerOptions, statistics: ModelStatistics) -> None:
        self.embedder = embedder
        self.queue = AdmissionQueue(options.workers, options.max_queue, statistics)
        self._statistics = statistics
        self._tokens = statistics.tokens = statistics.tokens or TokenStatistics()

    @property
    def cache_bytes(self) -> int:
        """The bytes of caches: an encoder has none."""
        return 0

    async def embed(self, texts: Sequence[Sequence[int]]) -> Array:
        """The vectors [texts, width] of texts, each as tokens.  Raises RequestFailure.

        Cancelling the task removes the request from the queue; a run that has begun completes.
        """
        with recorded(self._statistics):
            begin = await self.queue.enter()
            running = asyncio.ensure_future(asyncio.to_thread(self.embedder.embed_tokens, texts))
            running.add_done_callback(lambda _: self.queue.leave(begin))
            vectors = await asyncio.shield(running)
            self._tokens.prompt_tokens += sum(map(len, texts))
            return vectors
