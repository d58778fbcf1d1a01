"""The two shares of tests have every test once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import shares

TESTS = [f"tests/compile/test_norm_kernels.py::test_a_norm[{n}]" for n in range(400)]


def test_two_shares_have_every_test_once() -> None:
    drawn = [test for test in TESTS if shares.is_in_share(test, "rotating")]
    rest = [test for test in TESTS if shares.is_in_share(test, "rest")]
    assert sorted(drawn + rest) == sorted(TESTS)
    assert 25 < len(drawn) < 90, "an eighth"


def test_every_share_of_make_test_has_tests_without_parameters() -> None:
    assert shares.is_in_share("tests/compile/test_norm_kernels.py::test_a_norm", "rotating")
    assert not shares.is_in_share("tests/compile/test_norm_kernels.py::test_a_norm", "rest")


def test_files_that_take_long_rotate_without_parameters() -> None:
    tests = [f"tests/train/test_fit.py::test_{n}" for n in range(400)]
    drawn = [test for test in tests if shares.is_in_share(test, "rotating")]
    assert 60 < len(drawn) < 140, "a quarter"
    assert all(any(Path(__file__).parent.glob(f"{start}*.py")) for start in shares.LONG)


def test_other_sources_draw_other_tests() -> None:
    drawn = {seed: [t for t in TESTS if shares.is_in_share(t, "rotating", seed)] for seed in (b"a", b"b")}
    assert drawn[b"a"] != drawn[b"b"]


def test_a_misspelled_share_is_an_error() -> None:
    code = "import os; os.environ['SARDONYX_SHARE'] = 'some'; import shares"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert "must be all, rotating or rest; got 'some'" in run.stderr
