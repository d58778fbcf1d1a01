"""What a batch did so far, and how fast it is."""

from __future__ import annotations

import time
from collections import deque

from sardonyx._src.dataclass import dataclass

WINDOW_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class BatchingStats:
    """The requests, rows and tokens of a batch at one time.

    waiting, waiting_tokens: requests without a row, and the tokens of their prompts.
    reading: requests whose prompts are read.
    rows: results that are generated.
    cache_bytes: of the caches of these rows; prefix_bytes: of the states that are kept of earlier prompts.
    prompt_tokens: of prompts, read since the start; reused_tokens: those that kept states contained.
    tokens: generated since the start.
    tokens_per_second: generated in the last 10 s, divided by that time.
    finished, cancelled, failed: requests since the start.
    """

    waiting: int = 0
    waiting_tokens: int = 0
    reading: int = 0
    rows: int = 0
    cache_bytes: int = 0
    prefix_bytes: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    tokens: int = 0
    tokens_per_second: float = 0.0
    finished: int = 0
    cancelled: int = 0
    failed: int = 0


class Counters:
    """What the scheduler counts, in its own thread."""

    def __init__(self) -> None:
        self.prompt_tokens = self.reused_tokens = self.tokens = 0
        self.finished = self.cancelled = self.failed = 0
        self.recent: deque[tuple[float, int]] = deque()  # times of steps, and the tokens that they generated

    def add_tokens(self, count: int) -> None:
        if not count:
            return
        now = time.monotonic()
        self.tokens += count
        self.recent.append((now, count))
        while self.recent[0][0] < now - WINDOW_SECONDS:
            self.recent.popleft()

    def tokens_per_second(self) -> float:
        since = time.monotonic() - WINDOW_SECONDS
        return sum(count for moment, count in tuple(self.recent) if moment >= since) / WINDOW_SECONDS
