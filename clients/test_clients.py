"""Clients of onnxruntime that others wrote answer the same on Sardonyx in its place: `make test-clients`."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
NAMES = sorted(path.name.removesuffix("_program.py") for path in (FOLDER / "programs").glob("*_program.py"))
# Of networks in float32 whose engines sum in other orders, and of logarithms of sums near zero.
RELATIVE, ABSOLUTE = 1e-3, 2e-3


def run_program(name: str, engine: str, folder: Path) -> tuple[object, float]:
    """The answers of a program, and the seconds of its second run."""
    path = folder / f"{engine}.json"
    command = [sys.executable, str(FOLDER / "run_program.py"), name, engine, str(path)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert process.returncode == 0, process.stdout + process.stderr
    document = json.loads(path.read_text())
    return document["answers"], document["seconds"]


def assert_same(actual: object, expected: object, place: str) -> None:
    """Equal texts, integers and structures; floats within the tolerance."""
    if isinstance(expected, dict):
        assert isinstance(actual, dict) and actual.keys() == expected.keys(), place
        for key in expected:
            assert_same(actual[key], expected[key], f"{place}.{key}")
    elif isinstance(expected, list):
        assert isinstance(actual, list) and len(actual) == len(expected), place
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            assert_same(one, other, f"{place}[{i}]")
    elif isinstance(expected, float):
        assert isinstance(actual, float), place
        close = math.isclose(actual, expected, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        assert close or (math.isnan(actual) and math.isnan(expected)), f"{place}: {actual} for {expected}"
    else:
        assert actual == expected, f"{place}: {actual!r} for {expected!r}"


@pytest.mark.parametrize("name", NAMES)
def test_a_client_answers_the_same(name: str, tmp_path: Path) -> None:
    expected, before = run_program(name, "onnxruntime", tmp_path)
    actual, after = run_program(name, "sardonyx", tmp_path)
    print(f"\n{name}: {before:.3f} s on onnxruntime, {after:.3f} s on Sardonyx")
    assert_same(actual, expected, name)
