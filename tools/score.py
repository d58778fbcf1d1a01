"""The official suite on the reference engine: `python tools/score.py [PATTERN]` prints what fails, why, and the score."""

from __future__ import annotations

import collections
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from conformance.official import matching, run_case
from sardonyx.errors import SardonyxError


def main(pattern: str) -> int:
    warnings.simplefilter("ignore")
    cases = matching(pattern)
    failed: collections.Counter[str] = collections.Counter()
    start = time.perf_counter()
    for case in cases:
        try:
            run_case(case)
        except (SardonyxError, AssertionError) as error:
            failed[type(error).__name__] += 1
            print(f"{case.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    seconds = time.perf_counter() - start
    print(f"{len(cases) - failed.total()} of {len(cases)} pass in {seconds:.1f} s; {dict(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
