"""Bounds of a batch, and the bytes of caches that requests need."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sardonyx._src.arguments import require_integer
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.loop.request import GenerationRequest


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Bounds of a batch.

    max_rows: results that are generated at the same time.
    max_waiting_tokens: tokens of the prompts that wait for a row.
    max_cache_bytes: bytes of the caches of all rows.
    chunk: tokens of a prompt that are read between two tokens of the rows.
    """

    max_rows: int
    max_waiting_tokens: int
    max_cache_bytes: int
    chunk: int

    def __post_init__(self) -> None:
        for name in ("max_rows", "max_waiting_tokens", "max_cache_bytes", "chunk"):
            require_integer(name, getattr(self, name), 1)


@dataclass(frozen=True, slots=True)
class CacheSizes:
    """The bytes of the caches of a row: `fixed` whatever its length, and `token` more for each token.

    is_padded: whether rows of different lengths have the places of the longest one.
    """

    fixed: int
    token: int
    is_padded: bool

    def bytes(self, requests: Iterable[GenerationRequest]) -> int:
        """The bytes of the caches of requests that run together, when each has all of its tokens."""
        needs = [(request.settings.n, len(request.prompt) + request.room) for request in requests]
        rows = sum(count for count, _ in needs)
        longest = max((length for _, length in needs), default=0)
        places = rows * longest if self.is_padded else sum(count * length for count, length in needs)
        return rows * self.fixed + places * self.token


def cache_sizes(decoder: TokenDecoder, *, is_padded: bool) -> CacheSizes:
    """The sizes of the caches of a decoder."""
    state, token = decoder.start(), 0
    for pair in decoder.roles.caches:
        cache = state.caches[pair.past]
        if pair.axis is not None:
            others = [size for axis, size in enumerate(cache.shape) if axis != pair.axis]
            token += cache.itemsize * math.prod(others)
    return CacheSizes(state.bytes, token, is_padded)


def require_possible(request: GenerationRequest, limits: BatchLimits, sizes: CacheSizes) -> None:
    """Raises LimitError for a request that does not fit even if it is alone."""
    if request.settings.n > limits.max_rows:
        raise LimitError(
            f"a request must have at most {limits.max_rows} results; got {request.settings.n}",
            limit="max_rows",
        )
    needed = sizes.bytes([request])
    if needed > limits.max_cache_bytes:
        raise LimitError(
            f"the caches of a request must have at most {limits.max_cache_bytes} bytes; got {needed} for "
            f"{len(request.prompt)} tokens of the prompt and {request.room} more: generate fewer tokens",
            limit="max_cache_bytes",
        )
