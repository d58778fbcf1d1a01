"""Run the official suite on an engine; prints failures with their reasons, and the score.

    python tools/score.py [PATTERN] [--data FOLDER] [--engine native]

With a folder, the cases stored in it by older releases of ONNX are run instead of those of the installed wheel.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from conformance.official import Engine, assert_case_passes, matching
from sardonyx._src.errors import SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.runtime.engine import NativeEngine

ENGINES: dict[str, Engine] = {"reference": Interpreter, "native": NativeEngine}


def main(pattern: str, folder: Path | None, engine: Engine) -> int:
    warnings.simplefilter("ignore")
    cases = matching(pattern, folder)
    failed: collections.Counter[str] = collections.Counter()
    start = time.perf_counter()
    for case in cases:
        try:
            assert_case_passes(case, engine=engine)
        except (SardonyxError, AssertionError) as error:
            failed[type(error).__name__] += 1
            print(f"{case.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    seconds = time.perf_counter() - start
    print(f"{len(cases) - failed.total()} of {len(cases)} pass in {seconds:.1f} s; {dict(failed)}")
    return 1 if failed else 0


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
