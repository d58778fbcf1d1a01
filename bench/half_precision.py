"""Official cases and shared models in half precision: how many change, are valid, and are within the bound.

    python bench/half_precision.py [--schemes float16,bfloat16,float32] [--pattern REGEX]

Prints a line for each scheme, the cases that fail, and for each shared model what its outputs and its size become.  A case
holds if its result is well formed and typed, has no violation that the original does not have, has the same interface, and is
within the bound (`tests/quantize/precision_claims.py`).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import sardonyx as sx
from conformance.official import OfficialCase, matching
from conformance.test_shared_models import FOLDERS, MODELS, reference
from quantize.precision_claims import assert_holds, change, has_floats
from quantize.test_half_official import HALF, feeds_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError


def outcome(case: OfficialCase, scheme: str) -> str:
    """What becomes of a case; the message of what it violates."""
    model = case.load()
    if not has_floats(model, HALF if scheme == "float32" else (DataType.FLOAT,)):
        return "without such floats"
    runs = feeds_of(case, model)
    try:
        result = change(model, scheme, runs)
        assert_holds(model, result, scheme, runs)
    except (AssertionError, SardonyxError) as error:
        return f"{case}: {type(error).__name__}: {error}"
    return "changed" if result.layers else "nothing to change" if not result.kept else "kept, with reasons"


def print_counts(cases: Sequence[OfficialCase], scheme: str) -> None:
    counts = Counter(outcome(case, scheme) for case in cases if case.kind != "real")
    print(f"{scheme}: {dict(counts)}")


def print_models(scheme: str) -> None:
    for name in FOLDERS:
        model, (inputs, _) = sx.load(MODELS / name / "model.onnx"), reference(MODELS / name)
        try:
            report = sx.quantize(model, scheme, data=[inputs]).report
        except SardonyxError as error:
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        least = min((output.signal_to_noise for output in report.outputs), default=float("inf"))
        size = report.bytes[1] / report.bytes[0]
        print(
            f"{name}: {len(report.layers)} nodes, {least:.1f} dB, {size:.0%}, {report.speed:.2f} times as fast"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schemes", default="float16,bfloat16,float32")
    parser.add_argument("--pattern", default="")
    options = parser.parse_args()
    for scheme in options.schemes.split(","):
        print_counts(matching(options.pattern), scheme)
        if scheme != "float32":
            print_models(scheme)


if __name__ == "__main__":
    main()
