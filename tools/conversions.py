"""Convert every official case to every version that can express it, and compare its outputs with the expected ones.

    python tools/conversions.py [PATTERN] [--to VERSION ...] [--refused] [--data FOLDER]

A ConversionError counts as not expressible and is listed by step with --refused; any other deviation from the expected
outputs is a failure.  With --data, the cases stored in a folder by older ONNX releases are converted instead of those
of the installed wheel.  Exits with 1 if there is a failure.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from conformance.conversions import convert_to, targets_of
from conformance.official import assert_case_passes, matching
from sardonyx._src.errors import ConversionError, SardonyxError


def main(pattern: str, versions: list[int], show_refused: bool, folder: Path | None) -> int:
    warnings.simplefilter("ignore")
    done, failures = 0, 0
    refused: collections.Counter[str] = collections.Counter()
    reasons: dict[str, str] = {}
    start = time.perf_counter()
    for case in matching(pattern, folder):
        model = case.load()
        for target in targets_of(model, versions):
            try:
                assert_case_passes(case, convert_to(model, target))
                done += 1
            except ConversionError as error:
                step = f"{error.op_type}-{error.version} in {error.domain or 'ai.onnx'} {error.target}"
                refused[step] += 1
                reasons.setdefault(step, f"{error.why} ({case.name})")
            except (SardonyxError, AssertionError) as error:
                failures += 1
                print(
                    f"{case.name} to {target}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
                )
    if show_refused:
        for step, count in sorted(refused.items()):
            print(f"{count:6} {step}: {reasons[step]}")
    seconds = time.perf_counter() - start
    print(f"{done} conversions are correct, {refused.total()} refused, {failures} wrong; {seconds:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pattern", nargs="?", default="", help="regular expression searched in case names")
    parser.add_argument("--to", type=int, action="append", default=[], help="target version (default: all)")
    parser.add_argument("--refused", action="store_true", help="list the refused steps, with a reason each")
    parser.add_argument("--data", type=Path, help="folder of stored cases")
    options = parser.parse_args()
    sys.exit(main(options.pattern, options.to, options.refused, options.data))
