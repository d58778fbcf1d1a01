"""Generation of texts by a served model: requests run together in a batch."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from sardonyx._src.generate.batching.batching_generator import BatchingGenerator
from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.generator import Generator
from sardonyx._src.generate.results import Piece
from sardonyx._src.serve.models.language.admission import AdmissionQueue
from sardonyx._src.serve.models.language.options import LanguageOptions
from sardonyx._src.serve.models.language.outcomes import recorded
from sardonyx._src.serve.models.statistics import ModelStatistics, TokenStatistics

UNBOUNDED = 1 << 62  # tokens that wait in the batch: the queue bounds the number of requests


class TextGeneration:
    """The requests for texts of one model.  All methods are called on the event loop."""

    def __init__(
        self, generator: Generator, options: LanguageOptions, max_queue: int, statistics: ModelStatistics
    ) -> None:
        """max_queue: requests that may wait."""
        self.generator, self.options = generator, options
        self.queue = AdmissionQueue(options.rows, max_queue, statistics)
        self._batch = BatchingGenerator(
            generator,
            max_rows=options.rows,
            max_cache_bytes=options.cache_bytes,
            max_waiting_tokens=UNBOUNDED,
        )
        self._statistics = statistics
        self._tokens = statistics.tokens = statistics.tokens or TokenStatistics()

    @property
    def cache_bytes(self) -> int:
        """The bytes of caches: of results that are generated, and those that are kept of earlier ones."""
        stats = self._batch.stats
        return stats.cache_bytes + stats.prefix_bytes

    async def stream(self, prompt: Sequence[int], settings: SettingsKeywords) -> AsyncGenerator[Piece, None]:
        """The pieces of the results of a prompt, [length] tokens, as `Generator.stream` gives them.

        Closing the iterator, or cancelling the task that awaits a piece, removes the request from the queue or ends its run.
        Raises RequestFailure.
        """
        arrival, latest = time.monotonic(), 0.0
        with recorded(self._statistics):
            begin = await self.queue.enter()
            try:
                async with aclosing(await self._batch.astart(prompt, **settings)) as pieces:
                    async for piece in pieces:
                        now = time.monotonic()
                        self._record(piece, len(prompt), now - (latest or arrival), is_first=not latest)
                        latest = now
                        yield piece
            finally:
                self.queue.leave(begin)

    def _record(self, piece: Piece, prompt: int, seconds: float, *, is_first: bool) -> None:
        if is_first:
            self._tokens.record_first(prompt, len(piece.tokens), seconds)
        else:
            self._tokens.record_token(len(piece.tokens), seconds)
