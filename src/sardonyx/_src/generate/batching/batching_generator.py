"""`BatchingGenerator`: requests of several threads and coroutines, generated together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, Unpack

from sardonyx._src.arguments import require_type
from sardonyx._src.errors import InputError
from sardonyx._src.generate.batching.batched_request import BatchedRequest
from sardonyx._src.generate.batching.drafted_rows import RowDrafts
from sardonyx._src.generate.batching.limits import BatchLimits
from sardonyx._src.generate.batching.scheduler import BatchScheduler
from sardonyx._src.generate.batching.stats import BatchingStats
from sardonyx._src.generate.batching.streams import AsyncPieceStream, PieceStream
from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.drafts.lookup import LookupDraft
from sardonyx._src.generate.generator import Generator
from sardonyx._src.generate.prompt import Prompt
from sardonyx._src.generate.results import Generation, collect
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array

MAX_ROWS = 8
MAX_WAITING_TOKENS = 1 << 16
MAX_CACHE_BYTES = 1 << 30
CHUNK = 32


class BatchingGenerator:
    """Runs requests of any number of threads and coroutines together (continuous batching).

    Decoders of 4-bit weights spend a token's time on reading weights, which several results share.  Results join and leave
    between tokens, and prompts are read in chunks between them.  Where a decoder cannot read rows of different lengths in one
    run, rows of equal length run together, and others take turns; which is the case is found by trying.

    Each request has the tokens that it has alone: draws depend on its own seed and positions.  Where a decoder requires padding
    before short rows, or computes in float32, its logits may differ in the last bit, since sums add in other orders.

    The encoder of an encoder-decoder runs when a prompt is read.  Its requests take turns, since what it computed of them has
    sizes of their own, and `max_cache_bytes` does not count it.

    generator: the language model.  Its `prefix_bytes` let prompts continue earlier ones.  Its `draft` "lookup" proposes tokens
        of each row, fewer of them the more rows there are; a draft of another model is not used.
    max_rows: results that are generated at the same time.
    max_waiting_tokens: tokens of the prompts that wait for others to end.
    max_cache_bytes: bytes of the caches of the results that are generated; a run has twice as many, before and after.
    chunk: tokens of a prompt that are read between two tokens: more of them read prompts faster and delay the tokens of others.

    A thread runs while there are requests.  `close`, or the end of a `with` block, finishes them.
    """

    def __init__(
        self,
        generator: Generator,
        *,
        max_rows: int = MAX_ROWS,
        max_waiting_tokens: int = MAX_WAITING_TOKENS,
        max_cache_bytes: int = MAX_CACHE_BYTES,
        chunk: int = CHUNK,
    ) -> None:
        require_type("generator", generator, Generator, "a Generator")
        self.generator = generator
        self.limits = BatchLimits(max_rows, max_waiting_tokens, max_cache_bytes, chunk)
        # A model's draft continues one sequence, of which it has the caches.
        is_lookup = isinstance(generator.draft, LookupDraft)
        drafts = RowDrafts(generator.draft, generator.draft_tokens, generator.draft_stats)
        self._scheduler = BatchScheduler(
            generator.decoder, self.limits, generator.prefixes, drafts if is_lookup else RowDrafts()
        )

    @property
    def stats(self) -> BatchingStats:
        """What the batch did so far, and what it is doing."""
        return self._scheduler.stats()

    def generate(
        self,
        prompt: Prompt = (),
        *,
        inputs: Mapping[str, Array] | None = None,
        cancellation: CancellationToken | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> Generation:
        """The continuations of a prompt, as `Generator.generate` has them.

        Raises, in addition, LimitError for a request that does not fit into the limits or finds too many waiting, InputError
        for beams, and SardonyxError after `close`.
        """
        stream = PieceStream(CancellationToken())
        item = self._submit(stream, prompt, inputs, settings, cancellation)
        return Generation(collect(stream, item.request.settings.n), len(item.request.prompt))

    def stream(
        self,
        prompt: Prompt = (),
        *,
        inputs: Mapping[str, Array] | None = None,
        cancellation: CancellationToken | None = None,
        advance: Callable[[int], None] | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> PieceStream:
        """The pieces of the results of `generate` as their tokens are chosen.

        advance: is called, in the thread of the batch, with the number of tokens of the prompt that have been read.
        Errors of the arguments and of full limits are raised at once.  Closing the iterator, dropping it, or the token, frees
        the rows before the next token.
        """
        stream = PieceStream(CancellationToken())
        self._submit(stream, prompt, inputs, settings, cancellation, advance)
        return stream

    def astream(
        self,
        prompt: Prompt = (),
        *,
        inputs: Mapping[str, Array] | None = None,
        cancellation: CancellationToken | None = None,
        advance: Callable[[int], None] | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> AsyncPieceStream:
        """`stream` for coroutines, called in a running loop.  Cancelling the task that waits for a piece frees the rows."""
        stream = AsyncPieceStream(CancellationToken())
        self._submit(stream, prompt, inputs, settings, cancellation, advance)
        return stream

    async def astart(
        self,
        prompt: Prompt = (),
        *,
        inputs: Mapping[str, Array] | None = None,
        cancellation: CancellationToken | None = None,
        advance: Callable[[int], None] | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> AsyncPieceStream:
        """`astream` whose arguments are checked in a thread: to encode a long text or to compile a grammar takes time."""
        stream = AsyncPieceStream(CancellationToken())
        await asyncio.to_thread(self._submit, stream, prompt, inputs, settings, cancellation, advance)
        return stream

    def close(self, *, cancel: bool = False) -> None:
        """Refuses further requests, and waits for those that run.  cancel: ends these with CancelledError."""
        self._scheduler.close(cancel=cancel)

    def _submit(
        self,
        stream: PieceStream | AsyncPieceStream,
        prompt: Prompt,
        inputs: Mapping[str, Array] | None,
        settings: SettingsKeywords,
        cancellation: CancellationToken | None,
        advance: Callable[[int], None] | None = None,
    ) -> BatchedRequest:
        request = self.generator._request(prompt, inputs, settings, stream.token, advance)
        if request.settings.beams > 1:
            raise InputError(
                f"beams must be 1 in a batch; got {request.settings.beams}: search beams with `Generator.generate`",
                name="beams",
            )
        item = BatchedRequest(request, self.generator.tokenizer, stream.deliver, cancellation)
        self._scheduler.submit(item)
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close(cancel=error is not None)

    def __repr__(self) -> str:
        stats = self.stats
        return (
            f"<BatchingGenerator: {stats.rows} of {self.limits.max_rows} rows, {stats.waiting} requests wait>"
        )
