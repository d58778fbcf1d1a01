"""`sardonyx doctor`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sardonyx._src.cli.main import main
from sardonyx._src.cli.output.machine import binary_size, processor_rows
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.measure.machine.processor import Processor

Streams = pytest.CaptureFixture[str]
LABELS = ["processor", "class", "cores", "threads", "caches", "memory", "versions", "cache", "library"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    return tmp_path / "cache"


def test_facts_measurements_and_advice_are_printed(cache: Path, capsys: Streams) -> None:
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    labels = [line.split()[0] for line in out.splitlines() if line and line[0].isalpha()]
    assert labels[: len(LABELS)] == LABELS
    assert "float32" in out and "reads       L1 " in out and "costs       a call " in out
    assert f"cache       {cache}: writable" in out
    assert main(["doctor"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("measured")] == [
        line for line in out.splitlines() if line.startswith("measured")
    ]


def test_json_has_the_same_facts(capsys: Streams) -> None:
    assert main(["doctor", "--json", "--again"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["ok"] is True and facts["failure"] == ""
    assert facts["calibration"]["products"]["float32"] > 0
    assert {advice["name"] for advice in facts["unusual"]} <= {"quota", "affinity", "memory-limit", "busy"} | {
        "little-memory", "no-kernel-library", "emulator", "slow-subnormals", "hybrid", "lower-class",
        "no-class", "too-many-threads", "cache-disk-full", "temporary-folder", "denied-features",
    }  # fmt: skip


@pytest.mark.skipif(saved_program_machine() != "x86_64", reason="names classes of x86-64")
@pytest.mark.parametrize(
    ("target", "code", "name"), [("x86-64-v2", 0, "lower-class"), ("aarch64", 1, "wrong-target")]
)
def test_a_class_is_examined_in_its_process(target: str, code: int, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sardonyx", "doctor", "--json"],
        env={**os.environ, "SARDONYX_TARGET": target},
        capture_output=True,
        text=True,
        check=False,
    )
    facts = json.loads(done.stdout)
    assert (done.returncode, facts["ok"]) == (code, code == 0)
    assert name in [advice["name"] for advice in facts["unusual"]]
    assert (facts["calibration"] is None) == (code == 1)


def test_without_llvmlite_the_native_engine_does_not_work() -> None:
    code = "import sys; sys.modules['llvmlite'] = None; from sardonyx._src.cli.main import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{code}sys.exit(main(['doctor']))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "! llvmlite is not installed" in done.stdout and "measured" not in done.stdout


@pytest.mark.parametrize(
    ("is_stated", "text"), [(False, "b; it can also run c"), (True, "b; it can also run a, c")]
)
def test_classes_that_failed_cannot_be_run(is_stated: bool, text: str) -> None:
    processor = Processor("", "x86_64", "", "", "b", ("a", "b", "c"), "", (), "", False)
    assert dict(processor_rows(processor, is_stated=is_stated))["class"] == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (32768, "32 KiB"), (3 << 29, "1.5 GiB"), (1000 << 20, "1000 MiB"), (5 << 40, "5 TiB")],
)  # fmt: skip
def test_sizes_have_binary_units(count: int, text: str) -> None:
    assert binary_size(count) == text
