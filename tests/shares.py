"""Shares of tests that make one claim of many cases: each version of the sources runs another share of them.

`make test` runs a share, chosen by a digest of the compiler's sources, and `make test-rest` the others, so that both run every
test.  Tests without parameters, and those of files that are not listed, belong to every share.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from functools import cache
from typing import Literal, TypeAlias, cast

from sardonyx._src.compile.llvm.loaded_kernels import sources_digest

Share: TypeAlias = Literal["all", "rotating", "rest"]
SHARE = cast(Share, os.environ.get("SARDONYX_SHARE", "all"))
assert SHARE in ("all", "rotating", "rest"), f"SARDONYX_SHARE must be all, rotating or rest; got {SHARE!r}"

# By the beginning of a test's name: of how many tests with parameters one is in the share.
ROTATING: dict[str, int] = {}


def one_in(test: str, rotating: dict[str, int] = ROTATING) -> int:
    """Of how many tests like this one a share has one; 1 for a test that belongs to every share."""
    name = test.removeprefix("tests/")
    listed = [beginning for beginning in rotating if name.startswith(beginning)]
    return rotating[max(listed, key=len)] if listed and "[" in name else 1


@cache
def seed() -> bytes:
    return sources_digest().encode()


def is_in_share(test: str, share: Share = SHARE) -> bool:
    """Whether a share has a test, by its node id."""
    count = one_in(test)
    is_drawn = zlib.crc32(test.encode(), zlib.crc32(seed())) % count == 0
    return share == "all" or (is_drawn if share == "rotating" else not is_drawn)


def unused_beginnings(tests: Iterable[str]) -> set[str]:
    """The listed beginnings with which no test begins."""
    names = [test.removeprefix("tests/") for test in tests]
    return {beginning for beginning in ROTATING if not any(name.startswith(beginning) for name in names)}
