"""Shares of tests that make one claim of many cases: each version of the sources runs another share of them.

`make test` runs a share of the tests with parameters, which a digest of the compiler's sources chooses, and `make tests SHARE=rest`
the others, so that both together run every test.  Tests without parameters belong to the first, but for random samples.
"""

from __future__ import annotations

import os
import zlib
from functools import cache
from typing import Literal, TypeAlias, cast

from sardonyx._src.compile.llvm.sources import sources_digest

Share: TypeAlias = Literal["all", "rotating", "rest"]
SHARE = cast(Share, os.environ.get("SARDONYX_SHARE", "all"))
assert SHARE in ("all", "rotating", "rest"), f"SARDONYX_SHARE must be all, rotating or rest; got {SHARE!r}"

# By the beginning of a test's name, the longest counts: of how many tests with parameters one is in the share.
ROTATING = {
    "": 8,
    "check/test_check_rules": 1,  # each rule is a claim of its own
    "ops/": 4,  # each case is a sentence of the specification
}


def one_in(test: str) -> int:
    """Of how many tests like this one a share has one; 1 for a test that belongs to every share."""
    name = test.removeprefix("tests/")
    return ROTATING[max(filter(name.startswith, ROTATING), key=len)] if "[" in name else 1


@cache
def sources_seed() -> bytes:
    return sources_digest().encode()


def is_in_share(test: str, share: Share = SHARE, seed: bytes | None = None) -> bool:
    """Whether a share has a test, by its node id.  seed: what the choice depends on, by default the sources."""
    is_drawn = zlib.crc32(test.encode(), zlib.crc32(seed or sources_seed())) % one_in(test) == 0
    return share == "all" or is_drawn == (share == "rotating")
