"""The second run of tests that failed beside others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from unstable import MAX_TESTS

FAILS_ONCE = """\
from pathlib import Path

import pytest


@pytest.mark.parametrize("number", range({count}))
def test_fails_in_the_first_run(number):
    marker = Path(__file__).with_name(f"ran-{{number}}")
    ran = marker.exists()
    marker.touch()
    assert ran


def test_fails_always():
    assert {passes}
"""


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", *arguments, "."]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def run_twice(folder: Path, count: int, passes: bool) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(FAILS_ONCE.format(count=count, passes=passes))
    assert run_pytest(folder).returncode == 1
    return run_again(folder)


def run_again(folder: Path) -> subprocess.CompletedProcess[str]:
    return run_pytest(folder, "-p", "unstable", "--last-failed", "--last-failed-no-failures", "none")


def test_tests_that_pass_alone_are_named(tmp_path: Path) -> None:
    result = run_twice(tmp_path, MAX_TESTS, True)
    assert result.returncode == 0
    assert result.stdout.count("failed beside others and passes alone") == MAX_TESTS


def test_a_test_that_fails_again_fails_the_run(tmp_path: Path) -> None:
    assert run_twice(tmp_path, MAX_TESTS - 1, False).returncode == 1


def test_more_than_a_few_failures_are_not_run_again(tmp_path: Path) -> None:
    result = run_twice(tmp_path, MAX_TESTS + 1, True)
    assert result.returncode == 1
    assert f"{MAX_TESTS + 1} tests failed: more than {MAX_TESTS} are not run again" in result.stdout


def test_a_run_that_ended_before_its_tests_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text("def test_nothing():\n    pass\n")
    assert run_again(tmp_path).returncode == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("workers", [[], ["-n", "2"]])
def test_a_file_that_cannot_be_collected_is_not_run_again(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_some.py").write_text(FAILS_ONCE.format(count=1, passes=True))
    (tmp_path / "test_other.py").write_text("raise ImportError")
    assert run_pytest(tmp_path, "--continue-on-collection-errors", *workers).returncode == 1
    (tmp_path / "test_other.py").write_text("def test_nothing():\n    pass\n")
    result = run_again(tmp_path)
    assert result.returncode == 1
    assert "tests could not be collected: test_other.py" in result.stdout
