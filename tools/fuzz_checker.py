"""Damage documents by chance and check them, for as long as one likes.

    python tools/fuzz_checker.py [COUNT] [--seed N] [--seconds 1] [--gigabytes 2]

Each of COUNT documents has to be reported within the time and the memory.  The first that is not ends the run with
its seed, from which `--seed N` makes it again.
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

from check.damage import check_bytes, check_fields, seeds


class TooSlow(BaseException):
    """The time for one document has passed; no Exception, so that nothing on the way takes it for a fault."""


def expired(_signal: int, _frame: types.FrameType | None) -> None:
    raise TooSlow


def main(count: int, first: int, seconds: float, gigabytes: float) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * (1 << 30)),) * 2)
    signal.signal(signal.SIGALRM, expired)
    documents = list(seeds())
    start = time.perf_counter()
    for number in range(first, first + count):
        chance = random.Random(number)
        run = check_bytes if chance.random() < 0.5 else check_fields
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            run(chance.choice(documents), chance)
        except BaseException:
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
    words = parser.parse_args()
    main(words.count, words.seed, words.seconds, words.gigabytes)
