"""The official suite as shared libraries: how many cases have the bits of the session, and why the others have no library.

PYTHONPATH=tests python tools/library_suite.py
"""

from __future__ import annotations

import re
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path

from conformance.official import official_cases
from export.library_suite import run_case


def main(pattern: str = "") -> int:
    """Runs the cases whose names contain a pattern; returns 1 if a library has other results than its session."""
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    failures = []
    for i, case in enumerate(c for c in official_cases() if pattern in c.name):
        with tempfile.TemporaryDirectory() as folder:
            try:
                result = run_case(case, Path(folder))
            except AssertionError as error:
                failures.append(f"{case.name}: {error}")
                traceback.print_exc()
                continue
        kind = (
            "refused"
            if not result.is_equal
            else "equal, parameters as constants"
            if result.constants
            else "equal"
        )
        counts[kind] += 1
        if not result.is_equal:
            reasons[re.sub(r"'[^']*'", "_", result.reason)[:160]] += 1
            print(f"{i} {case.name}: {result.reason}", flush=True)
    print(dict(counts), f"{len(failures)} failures")
    for reason, count in reasons.most_common():
        print(count, reason)
    print(*failures, sep="\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
