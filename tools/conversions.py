"""Every official case, converted to every version that can express it, still gives its expected outputs.

    python tools/conversions.py [PATTERN] [--to VERSION ...] [--refused] [--data FOLDER]

A refusal (ConversionError) counts as not expressible and is listed by its step with --refused; everything else that
keeps a converted case from its outputs is a fault.  With a folder, the cases stored in it by older releases of ONNX are
converted instead of those of the installed wheel.  Exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from conformance.conversions import converted, targets_of
from conformance.official import matching, run_case
from conformance.test_official import FAILURES
from sardonyx._src.errors import ConversionError, SardonyxError


def main(pattern: str, wanted: list[int], show_refused: bool, folder: Path | None) -> int:
    warnings.simplefilter("ignore")
    done, faults = 0, 0
    refused: collections.Counter[str] = collections.Counter()
    reasons: dict[str, str] = {}
    start = time.perf_counter()
    for case in matching(pattern, folder):
        if case.name in FAILURES:
            continue
        model = case.load()
        for target in targets_of(model, wanted):
            try:
                run_case(case, converted(model, target))
                done += 1
            except ConversionError as error:
                word = f"{error.op_type}-{error.version} in {error.domain or 'ai.onnx'} {error.target}"
                refused[word] += 1
                reasons.setdefault(word, f"{error.why} ({case.name})")
            except (SardonyxError, AssertionError) as error:
                faults += 1
                print(
                    f"{case.name} to {target}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
                )
    if show_refused:
        for word, count in sorted(refused.items()):
            print(f"{count:6} {word}: {reasons[word]}")
    seconds = time.perf_counter() - start
    print(f"{done} conversions hold, {refused.total()} are refused, {faults} are wrong; {seconds:.0f} s")
    return 1 if faults else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "pattern", nargs="?", default="", help="a regular expression that case names are searched for"
    )
    parser.add_argument("--to", type=int, action="append", default=[], help="a version; all of them without")
    parser.add_argument(
        "--refused", action="store_true", help="list what cannot be expressed, with a reason each"
    )
    parser.add_argument("--data", type=Path, help="a folder of stored cases")
    options = parser.parse_args()
    sys.exit(main(options.pattern, options.to, options.refused, options.data))
