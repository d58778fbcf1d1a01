"""Compare the native engine with the reference engine on random graphs.

    python tools/fuzz_native.py [COUNT] [--seed N] [--nodes 14] [--guarded [--lanes 8]] [--keep-going]

Each of COUNT graphs runs several times, on feeds of different lengths, with 1, 2 and 3 threads; one in four has branches
and loops.  With --guarded, steps run one at a time instead, with every buffer between guard pages, and all buffers that
the step does not declare protected: an invalid access ends the process.  Then they run in a build with checked accesses,
which reports the first access outside of the declared buffers.  --lanes generates code for narrower registers.  The seed
of each graph is printed before it runs, and the first failure ends the run; `--seed N 1` reproduces it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from compile.guarded_programs import assert_stays_in_bounds
from compile.random_layers import sample
from compile.reference_agreement import assert_agrees
from sardonyx._src.errors import SardonyxError


def main(
    count: int, first: int, nodes: int, lanes: int | None, *, is_guarded: bool, keeps_going: bool
) -> int:
    start, failed = time.perf_counter(), 0
    for seed in range(first, first + count):
        graph = sample(seed, nodes)
        print(f"\rseed {seed} ", end="", flush=True)
        try:
            if is_guarded:
                assert_stays_in_bounds(graph, lanes)
            else:
                assert_agrees(graph)
        except (AssertionError, SardonyxError) as error:
            failed += 1
            print(f"{type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
            if not keeps_going:
                raise
    print(f"\n{count} graphs, {failed} failed, {time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="seed of the first graph (%(default)s)")
    parser.add_argument("--nodes", type=int, default=14, help="nodes per graph (%(default)s)")
    parser.add_argument("--guarded", action="store_true", help="detect accesses outside of declared buffers")
    parser.add_argument(
        "--lanes", type=int, choices=(1, 4, 8), help="with --guarded: floats per vector register"
    )
    parser.add_argument("--keep-going", action="store_true", help="report all failures instead of the first")
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
