"""Hold the native engine against the reference engine on graphs made by chance, for as long as one likes.

    python tools/fuzz_native.py [COUNT] [--seed N] [--nodes 14] [--guarded [--lanes 8]] [--keep-going]

Each of COUNT graphs runs several times, on feeds of different lengths, with 1, 2 and 3 threads; one in four has branches
and loops.  With --guarded its steps run one by one instead, with every storage between pages that nobody may touch, and
what a step does not say it reads or writes is out of its reach: a step that goes there ends the process.  Then they run
in the checked build, which tells of the first access outside of what the step may touch.  --lanes makes the code of
narrower registers.  The seed of each graph is printed before it runs, and the first that is wrong ends the run;
`--seed N 1` makes it again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compile.agreement import agrees
from compile.guarded_programs import stays_inside
from compile.random_layers import sample
from sardonyx._src.errors import SardonyxError


def main(
    count: int, first: int, nodes: int, lanes: int | None, *, is_guarded: bool, keeps_going: bool
) -> int:
    start, failed = time.perf_counter(), 0
    for seed in range(first, first + count):
        made = sample(seed, nodes)
        print(f"\rseed {seed} ", end="", flush=True)
        try:
            if is_guarded:
                stays_inside(made, lanes)
            else:
                agrees(made)
        except (AssertionError, SardonyxError) as error:
            failed += 1
            print(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
            if not keeps_going:
                raise
    print(f"\n{count} graphs, {failed} of them wrong, {time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first graph")
    parser.add_argument("--nodes", type=int, default=14, help="how large graphs are")
    parser.add_argument("--guarded", action="store_true", help="look for accesses outside of storages")
    parser.add_argument("--lanes", type=int, choices=(1, 4, 8), help="with --guarded: floats of a vector")
    parser.add_argument("--keep-going", action="store_true", help="tell of all graphs that are wrong")
    words = parser.parse_args()
    sys.exit(
        main(
            words.count,
            words.seed,
            words.nodes,
            words.lanes,
            is_guarded=words.guarded,
            keeps_going=words.keep_going,
        )
    )
