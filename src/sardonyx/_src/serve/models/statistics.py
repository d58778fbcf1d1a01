"""Statistics of a model's requests, which the metrics endpoint reads: counts, histograms of seconds and of batch sizes."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
TOKEN_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)


class Histogram:
    """Counts of observations by upper bound; the last count is the number of observations above all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def add(self, other: Histogram) -> None:
        """Adds the observations of another histogram with the same bounds."""
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.total += other.total


class TokenStatistics:
    """Counts and times of the tokens of a language model.

    prompt_tokens, generated_tokens: counts.
    first_token_seconds: the time from the arrival of a request to its first token.
    token_seconds: the time from one token of a request to the next.
    """

    __slots__ = ("first_token_seconds", "generated_tokens", "prompt_tokens", "token_seconds")

    def __init__(self) -> None:
        self.prompt_tokens = self.generated_tokens = 0
        self.first_token_seconds = Histogram(SECONDS)
        self.token_seconds = Histogram(TOKEN_SECONDS)

    def record_first(self, prompt: int, count: int, seconds: float) -> None:
        """Counts a prompt of `prompt` tokens, and `count` tokens that came first, `seconds` after the request."""
        self.prompt_tokens += prompt
        self.generated_tokens += count
        self.first_token_seconds.observe(seconds)

    def record_token(self, count: int, seconds: float) -> None:
        """Counts `count` tokens that came `seconds` after those before."""
        self.generated_tokens += count
        self.token_seconds.observe(seconds)

    def add(self, other: TokenStatistics) -> None:
        """Adds the statistics of another process."""
        self.prompt_tokens += other.prompt_tokens
        self.generated_tokens += other.generated_tokens
        self.first_token_seconds.add(other.first_token_seconds)
        self.token_seconds.add(other.token_seconds)


class ModelStatistics:
    """Counts and durations of the requests of one version of a model; updated on the event loop, and kept across replacements.

    tokens: those of a language model; None for any other.
    """

    __slots__ = ("batch_rows", "outcomes", "request_seconds", "run_seconds", "tokens", "wait_seconds")

    def __init__(self) -> None:
        # Number of requests by "ok" or the kind of failure.
        self.outcomes: defaultdict[str, int] = defaultdict(int)
        self.request_seconds = Histogram(SECONDS)
        self.wait_seconds = Histogram(SECONDS)
        self.run_seconds = Histogram(SECONDS)
        self.batch_rows = Histogram(ROWS)
        self.tokens: TokenStatistics | None = None

    def record_request(self, outcome: str, seconds: float) -> None:
        """Counts a request that has ended, `seconds` after it arrived."""
        self.outcomes[outcome] += 1
        self.request_seconds.observe(seconds)

    def record_wait(self, seconds: float) -> None:
        """Counts the time of a request in the queue."""
        self.wait_seconds.observe(seconds)

    def record_run(self, rows: int, seconds: float) -> None:
        """Counts a run of a batch of `rows` rows."""
        self.run_seconds.observe(seconds)
        self.batch_rows.observe(rows)

    def add(self, other: ModelStatistics) -> None:
        """Adds the statistics of another process."""
        for outcome, count in other.outcomes.items():
            self.outcomes[outcome] += count
        self.request_seconds.add(other.request_seconds)
        self.wait_seconds.add(other.wait_seconds)
        self.run_seconds.add(other.run_seconds)
        self.batch_rows.add(other.batch_rows)
        if other.tokens is not None:
            self.tokens = self.tokens or TokenStatistics()
            self.tokens.add(other.tokens)
