"""Shares of tests that make one claim of many cases: each version of the sources runs another share of them.

`make test` runs a share of the tests with parameters, which a digest of the compiler's sources chooses, and `make tests SHARE=rest`
the others, so that both together run every test.  Tests without parameters belong to the first, but for random samples and
for files whose tests take long.
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
    "conformance/test_target_classes": 24,  # each starts processes that run hundreds of cases
    "ops/": 4,  # each case is a sentence of the specification
    "test_vocabulary": 1,  # the laws of all files
}

# The same for all tests of files that take long, of a subject that faster tests of other files have, too.
LONG = {
    "cli/test_warm_verb": 4,
    "compile/test_kernel_probes": 8,
    "conformance/test_classes_without_fma": 8,
    "conformance/test_conversions": 4,
    "project/test_recipes": 3,
    "proto/test_binary_laws": 4,
    "proto/test_json": 4,
    "proto/test_text_round_trip": 4,
    "quantize/test_half_official": 8,
    "quantize/test_half_random": 4,
    "runtime/test_machine_library": 4,
    "serve/test_framing": 3,
    "serve/test_hostile": 3,
    "serve/test_processes": 4,
    "train/test_fit": 4,
}


def one_in(test: str) -> int:
    """Of how many tests like this one a share has one; 1 for a test that belongs to every share."""
    name = test.removeprefix("tests/")
    long = next((count for start, count in LONG.items() if name.startswith(start)), None)
    if long is not None:
        return long
    return ROTATING[max(filter(name.startswith, ROTATING), key=len)] if "[" in name else 1


@cache
def sources_seed() -> bytes:
    return sources_digest().encode()


def is_in_share(test: str, share: Share = SHARE, seed: bytes | None = None) -> bool:
    """Whether a share has a test, by its node id.  seed: what the choice depends on, by default the sources."""
    is_drawn = zlib.crc32(test.encode(), zlib.crc32(seed or sources_seed())) % one_in(test) == 0
    return share == "all" or is_drawn == (share == "rotating")
