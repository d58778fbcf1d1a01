"""A process without llvmlite loads, checks and runs models; what was compiled before still runs natively."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sardonyx._src.compile.linker import features

DIGITS = Path(__file__).resolve().parents[2] / "examples" / "digits"
BLOCK = """
import sys
sys.modules["llvmlite"] = None  # as where it is not installed
"""
RUN = """
import numpy as np
import sardonyx as sx
def accuracy(session):
    test = np.load("test.npz")
    return (session.run({"image": test["image"]})["digit"] == test["digit"]).mean()
"""
needs_saved_programs = pytest.mark.skipif(
    features.saved_program_machine() is None, reason="programs are not saved here"
)


def run_python(code: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SARDONYX_CACHE": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", code], cwd=DIGITS, env=environment, capture_output=True, text=True, check=False
    )


def assert_prints(code: str, cache: Path, expected: str) -> str:
    """Asserts that a process ends well and prints this; returns its standard error."""
    process = run_python(code, cache)
    assert process.returncode == 0, process.stderr
    assert process.stdout.strip() == expected
    return process.stderr


def test_models_are_loaded_and_checked(tmp_path: Path) -> None:
    code = """
import sardonyx as sx
model = sx.load("digits.onnx")
print([d for d in sx.check(model).diagnostics if d.severity == "error"])
"""
    assert_prints(BLOCK + code, tmp_path, "[]")


def test_auto_is_the_reference_engine_and_says_so_once(tmp_path: Path) -> None:
    code = """
session = sx.Session("digits.onnx")
print(session.engine, accuracy(session) > 0.9)
accuracy(session)
"""
    errors = assert_prints(BLOCK + RUN + code, tmp_path, "reference True")
    assert errors.count("llvmlite") == 2, errors  # the package, and the command that installs it
    assert "pip install llvmlite" in errors


def test_the_native_engine_names_the_package_and_the_cure(tmp_path: Path) -> None:
    code = """
import sardonyx as sx
try:
    sx.Session("digits.onnx", engine="native")
except sx.MissingPackage as error:
    print(error.package, isinstance(error, sx.SardonyxError), error)
"""
    why = "the native engine requires llvmlite, which is not installed"
    cure = 'run `pip install llvmlite`, or use engine="reference"'
    assert_prints(BLOCK + code, tmp_path, f"llvmlite True {why}: {cure}")


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["run", "digits.onnx", "--random", "0"], 0, "digit"),
        (["run", "digits.onnx", "--random", "0", "--engine", "reference"], 0, "digit"),
        (["run", "digits.onnx", "--random", "0", "--engine", "native"], 1, "pip install llvmlite"),
        (["profile", "digits.onnx"], 1, "pip install llvmlite"),
        (["compile", "digits.onnx", "-o", os.devnull], 1, "pip install llvmlite"),
    ],
    ids=["auto", "reference", "native", "profile", "compile"],
)
def test_the_command_line_prints_no_traceback(
    tmp_path: Path, arguments: list[str], code: int, text: str
) -> None:
    process = run_python(
        BLOCK + f"from sardonyx._src.cli.main import main; sys.exit(main({arguments!r}))", tmp_path
    )
    assert process.returncode == code, process.stderr
    assert text in process.stdout + process.stderr
    assert "Traceback" not in process.stderr


@needs_saved_programs
def test_cached_programs_run_natively(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    code = """
session = sx.Session("digits.onnx", engine=ENGINE)
print(session.engine, type(session._runner).__name__, accuracy(session) > 0.9)
"""
    expected = "native CachedEngine True"
    assert_prints(RUN + code.replace("ENGINE", '"native"'), tmp_path, expected)
    for engine in ("auto", "native"):
        assert_prints(BLOCK + RUN + code.replace("ENGINE", repr(engine)), tmp_path, expected)


@needs_saved_programs
def test_saved_programs_run_natively(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite")
    file = str(tmp_path / "digits.sdx")
    save = f"from sardonyx._src.cli.main import main; print(main(['compile', 'digits.onnx', '-o', {file!r}]))"
    assert run_python(save, tmp_path).returncode == 0
    code = f"print(accuracy(sx.Session({file!r})) > 0.9)"
    assert_prints(BLOCK + RUN + code, tmp_path / "empty", "True")
