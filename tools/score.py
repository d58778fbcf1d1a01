"""Run the official suite in sessions of an engine; prints failures with their reasons, and the score.

    python tools/score.py [PATTERN] [--data FOLDER] [--engine native]

With a folder, the cases stored in it by older releases of ONNX, a folder each, are run instead of those of the installed
wheel.  A failure names the next release that has other content for the case, if any: it corrected the case.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from conformance.official import (
    OfficialCase,
    OpenSession,
    assert_case_passes,
    matching,
    open_native,
    open_reference,
)
from sardonyx._src.errors import SardonyxError

ENGINES: dict[str, OpenSession] = {"reference": open_reference, "native": open_native}


def main(pattern: str, folder: Path | None, open_session: OpenSession) -> int:
    warnings.simplefilter("ignore")
    cases = matching(pattern, folder)
    failed: collections.Counter[str] = collections.Counter()
    kept = 0
    start = time.perf_counter()
    for case in cases:
        try:
            assert_case_passes(case, open_session=open_session)
        except (SardonyxError, AssertionError) as error:
            failed[type(error).__name__] += 1
            replacement = find_replacement(case, cases) if folder is not None else ""
            kept += not replacement
            note = f" [replaced: {replacement}]" if replacement else ""
            print(f"{case.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}{note}")
    seconds = time.perf_counter() - start
    print(f"{len(cases) - failed.total()} of {len(cases)} pass in {seconds:.1f} s; {dict(failed)}")
    if folder is not None:
        print(f"{kept} failures are of cases that no later release replaced")
    return 1 if failed else 0


def find_replacement(case: OfficialCase, cases: Sequence[OfficialCase]) -> str:
    """The next later case of this name, which has other content; "" if there is none."""
    name = case.name.rpartition("/")[2]
    later = iter(cases[cases.index(case) + 1 :])
    return next((other.name for other in later if other.name.rpartition("/")[2] == name), "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "pattern", nargs="?", default="", help="a regular expression that case names are searched for"
    )
    parser.add_argument("--data", type=Path, help="a folder of stored cases")
    parser.add_argument("--engine", choices=ENGINES, default="reference", help="which engine runs the cases")
    options = parser.parse_args()
    sys.exit(main(options.pattern, options.data, ENGINES[options.engine]))
