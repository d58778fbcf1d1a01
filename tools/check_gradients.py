"""Check the gradients of all official and own cases by central differences; write tests/grad/checked_cases.json.

python tools/check_gradients.py            # minutes; all cores
python tools/check_gradients.py --cases Resize
python tools/check_gradients.py --state FOLDER --jobs 1  # continues where an earlier call with the folder ended
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from grad.checking import Verdict, check_case
from grad.differentiable_models import SourceCase, source_cases
from sardonyx._src.errors import SardonyxError

RESULTS = Path(__file__).resolve().parent.parent / "tests" / "grad" / "checked_cases.json"
SECOND_ORDER = 3  # the number of cases of which the gradients of second order of one are checked, too
SHARES = 128  # of the cases, handed to the next process that is free
Row = tuple[str, str, Verdict]  # case, origin, what came of it


def check_share(share: int, pattern: str) -> list[Row]:
    """The verdicts on every case of a share whose name matches."""
    warnings.simplefilter("ignore")
    cases = all_cases()[share::SHARES]
    with np.errstate(all="ignore"):
        return [
            (str(case), case.origin, verdict_on(case, second_order=i % SECOND_ORDER == 0))
            for i, case in enumerate(cases)
            if re.search(pattern, str(case))
        ]


@cache
def all_cases() -> Sequence[SourceCase]:
    """Those of `source_cases`, listed once by each process."""
    return list(source_cases())


def check_shares(shares: Sequence[int], pattern: str, jobs: int) -> Iterator[tuple[int, Sequence[Row]]]:
    """The verdicts of each share, as they are reached; in this process if there is one job."""
    if jobs == 1:
        yield from ((share, check_share(share, pattern)) for share in shares)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from zip(shares, pool.map(check_share, shares, [pattern] * len(shares)), strict=True)


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


def check_all(pattern: str, jobs: int, state: Path | None) -> Sequence[Row]:
    """The verdicts on all cases; a share whose file is in the folder `state` is read, and the others are written there."""
    files = {share: state / f"{share}.json" for share in range(SHARES)} if state else {}
    rows = {share: read_rows(file) for share, file in files.items() if file.is_file()}
    for share, checked in check_shares([i for i in range(SHARES) if i not in rows], pattern, jobs):
        rows[share] = checked
        if state:
            write_rows(files[share], checked)
    return [row for share in range(SHARES) for row in rows[share]]


def write_rows(file: Path, rows: Sequence[Row]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    entries = [
        (name, origin, {**asdict(verdict), "operators": sorted(verdict.operators)})
        for name, origin, verdict in rows
    ]
    partial = file.with_suffix(".part")
    partial.write_text(json.dumps(entries), encoding="utf-8")
    partial.replace(file)


def read_rows(file: Path) -> Sequence[Row]:
    rows: list[Row] = []
    for name, origin, verdict in json.loads(file.read_text(encoding="utf-8")):
        operators = frozenset((domain, operator) for domain, operator in verdict["operators"])
        rows.append((name, origin, Verdict(verdict["kind"], operators, verdict["reason"])))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", default="", metavar="PATTERN", help="only cases whose names match")
    parser.add_argument(
        "--state", type=Path, metavar="FOLDER", help="keeps what was checked, for a later call"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes")
    args = parser.parse_args()
    rows = check_all(args.cases, args.jobs, args.state)
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
