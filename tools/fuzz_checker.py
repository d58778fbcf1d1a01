"""Fuzz the checker with randomly damaged documents.

    python tools/fuzz_checker.py [COUNT] [--seed N] [--seconds 1] [--gigabytes 2]

Each of COUNT documents must be checked within the limits on time and memory.  The first failure ends the run and prints
its seed; `--seed N` reproduces it.
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import time
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from check.damage import assert_bytes_checked, assert_fields_checked, seeds


class TooSlow(BaseException):
    """The time limit for one document was exceeded; not an Exception, so that no handler catches it."""


def raise_too_slow(_signal: int, _frame: types.FrameType | None) -> None:
    raise TooSlow


def main(count: int, first: int, seconds: float, gigabytes: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * (1 << 30)),) * 2)
    signal.signal(signal.SIGALRM, raise_too_slow)
    documents = list(seeds())
    start = time.perf_counter()
    for number in range(first, first + count):
        chance = random.Random(number)
        run = assert_bytes_checked if chance.random() < 0.5 else assert_fields_checked
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            run(chance.choice(documents), chance)
        except BaseException:  # TooSlow and KeyboardInterrupt too: the seed reproduces what the run did
            print(f"seed {number}: {run.__name__}", flush=True)
            raise
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if (number + 1 - first) % 10_000 == 0:
            print(f"{number + 1 - first:,} documents, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", nargs="?", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    arguments = parser.parse_args()
    main(arguments.count, arguments.seed, arguments.seconds, arguments.gigabytes)
