"""Continuous batching: a thread in which rows join and leave a batch between tokens.

    while there are requests:
        drop those that were cancelled; admit waiting ones as far as rows and bytes of caches suffice
        read the next chunk of one prompt, of which a row joins after the last chunk
        generate one token of each row; rows whose results end leave

Prompts are read in turns, so that a long one delays neither the tokens of the rows nor short prompts.  What is chosen for a row
depends on its own logits, settings and position alone.
"""

from __future__ import annotations

import threading
from collections import deque

from sardonyx._src.errors import CancelledError, LimitError, SardonyxError
from sardonyx._src.generate.batching.batch_groups import BatchGroups
from sardonyx._src.generate.batching.batched_request import BatchedRequest
from sardonyx._src.generate.batching.drafted_rows import RowDrafts
from sardonyx._src.generate.batching.limits import BatchLimits, cache_sizes, require_possible
from sardonyx._src.generate.batching.stats import BatchingStats, Counters
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.prefix_store import PrefixStore
from sardonyx._src.threads import start_thread


class BatchScheduler:
    """Runs requests of several threads, in a thread of its own that ends when there are none."""

    def __init__(
        self,
        decoder: TokenDecoder,
        limits: BatchLimits,
        prefixes: PrefixStore | None,
        drafts: RowDrafts,
    ) -> None:
        self.decoder, self.limits, self.prefixes = decoder, limits, prefixes
        self.groups = BatchGroups(decoder, self.fail, drafts)
        self.sizes = cache_sizes(decoder, is_padded=self.groups.is_padded)
        self.lock = threading.Lock()  # of what follows
        self.waiting: deque[BatchedRequest] = deque()
        self.thread: threading.Thread | None = None
        self.is_closed = False
        # Only the thread changes what follows.
        self.reading: deque[BatchedRequest] = deque()
        self.running: dict[BatchedRequest, None] = {}  # all that have been admitted, in this order
        self.counters = Counters()

    # --- calls of other threads --------------------------------------------------------------

    def submit(self, item: BatchedRequest) -> None:
        """Adds a request; raises LimitError for one that does not fit, and SardonyxError after `close`."""
        require_possible(item.request, self.limits, self.sizes)
        with self.lock:
            if self.is_closed:
                raise SardonyxError("the batch was closed; open a new one to run requests")
            waiting = self.waiting_tokens() + len(item.request.prompt)
            if waiting > self.limits.max_waiting_tokens:
                raise LimitError(
                    f"prompts that wait must have at most {self.limits.max_waiting_tokens} tokens together; got {waiting}: "
                    "try again later",
                    limit="max_waiting_tokens",
                )
            if self.thread is None:
                thread = threading.Thread(target=self.run, name="sardonyx batch", daemon=True)
                self.waiting.append(item)
                try:
                    start_thread(thread)
                    self.thread = thread
                except LimitError:
                    self.waiting.remove(item)
                    raise
            else:
                self.waiting.append(item)

    def close(self, *, cancel: bool) -> None:
        """Refuses further requests, and waits until those that were submitted have ended."""
        with self.lock:
            self.is_closed = True
            thread, items = self.thread, [*self.waiting, *self.running]
        for item in items if cancel else []:
            assert item.request.cancellation is not None, "each request has a token of its own"
            item.request.cancellation.cancel()
        if thread is not None:
            thread.join()

    def stats(self) -> BatchingStats:
        with self.lock:
            waiting, tokens, reading = len(self.waiting), self.waiting_tokens(), len(self.reading)
        counters = self.counters
        return BatchingStats(
            waiting,
            tokens,
            reading,
            self.groups.rows,
            self.groups.cache_bytes,
            self.prefixes.bytes if self.prefixes is not None else 0,
            counters.prompt_tokens,
            counters.reused_tokens,
            counters.tokens,
            counters.tokens_per_second(),
            counters.finished,
            counters.cancelled,
            counters.failed,
        )

    def waiting_tokens(self) -> int:
        return sum(len(item.request.prompt) for item in self.waiting)

    # --- the thread --------------------------------------------------------------------------

    def run(self) -> None:
        try:
            while self.admit():
                self.groups.keep_rows_of(self.running)
                if self.reading:
                    self.read_chunk(self.reading.popleft())
                self.counters.add_tokens(self.groups.step())
                self.end_finished()
        except BaseException as error:  # noqa: BLE001  # no stream waits for a thread that has ended
            # Panics of libraries in Rust, as those of tokenizers and grammars, are no Exceptions.
            self.fail_all(
                error if isinstance(error, Exception) else SardonyxError(f"the batch ended: {error!r}")
            )

    def admit(self) -> bool:
        """Removes cancelled requests and admits waiting ones, in their order; whether there is anything to do."""
        with self.lock:
            cancelled = [item for item in (*self.waiting, *self.running) if item.is_cancelled]
            self.waiting = deque(item for item in self.waiting if item not in cancelled)
            self.reading = deque(item for item in self.reading if item not in cancelled)
            self.running = {item: None for item in self.running if item not in cancelled}
            while self.waiting and self.has_room(self.waiting[0]):
                item = self.waiting.popleft()
                self.running[item] = None
                self.reading.append(item)
            has_work = bool(self.running)
            if not has_work:
                self.groups.keep_rows_of(())
                self.thread = None
        self.counters.cancelled += len(cancelled)
        for item in cancelled:
            item.deliver(CancelledError("the request was cancelled"))
        return has_work

    def has_room(self, item: BatchedRequest) -> bool:
        requests = [*(other.request for other in self.running), item.request]
        rows = sum(request.settings.n for request in requests)
        return rows <= self.limits.max_rows and self.sizes.bytes(requests) <= self.limits.max_cache_bytes

    def read_chunk(self, item: BatchedRequest) -> None:
        """Reads the next chunk of a prompt; its rows join after the last one."""
        try:
            if item.state is None:
                self.counters.reused_tokens += item.begin(self.decoder)
            assert item.state is not None
            before = item.state.length
            logits = item.read(self.decoder, self.limits.chunk)
            self.counters.prompt_tokens += item.state.length - before
            if logits is None:
                self.reading.append(item)
            else:
                state, item.state = item.state, None
                self.groups.join(item, state, logits)
                self.counters.add_tokens(len(item.rows))
        except Exception as error:  # noqa: BLE001  # the request raises it, and the others go on
            if not item.is_cancelled:  # `admit` removes a cancelled one
                self.fail(item, error)

    def end_finished(self) -> None:
        """Ends the streams of requests that have all their results."""
        for item in [item for item in self.running if item.has_ended]:
            self.counters.finished += 1
            self.end(item, None)

    def fail(self, item: BatchedRequest, error: Exception) -> None:
        """Ends the stream of a request with an error; one that has ended is not changed."""
        if item in self.running:
            self.counters.failed += 1
            self.end(item, error)

    def end(self, item: BatchedRequest, error: Exception | None) -> None:
        with self.lock:
            del self.running[item]
        item.deliver(error)

    def fail_all(self, error: Exception) -> None:
        """Ends all streams with a defect of the scheduler."""
        with self.lock:
            items = [*self.waiting, *self.running]
            self.waiting, self.reading, self.running, self.thread = deque(), deque(), {}, None
        for item in items:
            item.deliver(error)
