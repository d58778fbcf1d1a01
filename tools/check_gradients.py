"""Check the gradients of all official and own cases by central differences; write tests/grad/checked_cases.json.

python tools/check_gradients.py            # minutes; all cores
python tools/check_gradients.py --cases Resize
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from grad.checking import Verdict, check_case
from grad.differentiable_models import SourceCase, source_cases
from sardonyx._src.errors import SardonyxError

RESULTS = Path(__file__).resolve().parent.parent / "tests" / "grad" / "checked_cases.json"
SECOND_ORDER = 3  # the number of cases of which the gradients of second order of one are checked, too
SHARES = 32  # of the cases, handed to the next process that is free
Row = tuple[str, str, Verdict]  # case, origin, what came of it


def check_share(share: int, pattern: str) -> list[Row]:
    """The verdicts on every case of a share whose name matches."""
    warnings.simplefilter("ignore")
    cases = [case for i, case in enumerate(source_cases()) if i % SHARES == share]
    with np.errstate(all="ignore"):
        return [
            (str(case), case.origin, verdict_on(case, second_order=i % SECOND_ORDER == 0))
            for i, case in enumerate(cases)
            if re.search(pattern, str(case))
        ]


def verdict_on(case: SourceCase, *, second_order: bool) -> Verdict:
    """The verdict on a case; a run that fails is a wrong one."""
    try:
        return check_case(case, second_order=second_order)
    except SardonyxError as error:
        return Verdict("wrong", reason=str(error))


def summary(rows: Iterable[Row]) -> dict[str, object]:
    """Counts by operator and in total, and the first refusal of each operator."""
    operators: dict[str, Counter[str]] = {}
    totals: Counter[str] = Counter()
    refusals: dict[str, str] = {}
    for _, origin, verdict in rows:
        totals[verdict.kind] += 1
        kinds = [origin] if verdict.kind in ("checked", "short") else []
        kinds += ["float32"] if verdict.kind == "short" else []
        kinds += ["second"] if verdict.kind == "checked" and verdict.reason == "checked" else []
        totals.update(kinds)
        for domain, name in verdict.operators:
            operators.setdefault(f"{domain}.{name}" if domain else name, Counter()).update(kinds)
        if verdict.kind == "refused":
            (subject,) = re.findall(r"(\w+)-\d+ cannot be", verdict.reason) or [verdict.reason]
            refusals.setdefault(subject, verdict.reason)
    counted = {name: dict(sorted(counts.items())) for name, counts in sorted(operators.items()) if counts}
    return {
        "totals": dict(sorted(totals.items())),
        "operators": counted,
        "refusals": dict(sorted(refusals.items())),
    }


def failures(rows: Iterable[Row]) -> Sequence[str]:
    """A line for each case whose gradients are wrong."""
    return [
        f"{case}: {verdict.reason}"
        for case, _, verdict in rows
        if verdict.kind == "wrong" or verdict.reason.startswith("wrong")
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", metavar="PATTERN", help="only cases whose names match")
    args = parser.parse_args()
    rows: list[Row] = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for part in pool.map(check_share, range(SHARES), [args.cases] * SHARES):
            rows += part
    result = summary(rows)
    print(json.dumps(result["totals"]))
    wrong = failures(rows)
    print(*wrong, sep="\n")
    if not args.cases:
        result["wrong"] = wrong
        RESULTS.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
