"""The processor as LLVM names it, known without LLVM once it was asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm import host as processor
from sardonyx._src.compile.llvm.cache import Cache
from sardonyx._src.compile.llvm.host import target_of
from sardonyx._src.compile.llvm.jit import host

needs_linux = pytest.mark.skipif(
    processor.surroundings() is None, reason="nothing tells processors apart here"
)
SAID = """
import json, sys
from dataclasses import asdict
from sardonyx._src.compile.llvm.jit import host
print(json.dumps([asdict(host()), "llvmlite" in sys.modules]))
"""


def said(folder: Path) -> tuple[dict[str, object], bool]:
    """What a new process says of the processor, and whether it has loaded LLVM for that."""
    environment = {**os.environ, "SARDONYX_CACHE": str(folder)}
    found = subprocess.run([sys.executable, "-c", SAID], env=environment, capture_output=True, check=True)
    target, is_loaded = json.loads(found.stdout)
    return target, is_loaded


def test_the_target_is_what_llvm_says() -> None:
    assert host() == target_of(compiler.facts())


@pytest.mark.parametrize(
    ("features", "lanes", "fused", "registers"),
    [
        ("+sse2,-avx,-avx2,-avx512f,-fma", 4, False, 16),
        ("+sse2,+avx,-avx2,-avx512f,-fma", 8, False, 16),
        ("+avx,+avx2,-avx512f,+fma,+f16c", 8, True, 16),
        ("+avx,+avx2,-avx512f,+fma,-f16c", 8, False, 16),
        ("+avx,+avx2,+avx512f,+fma,+f16c", 16, True, 32),
    ],
)
def test_features_say_how_wide_registers_are(features: str, lanes: int, fused: bool, registers: int) -> None:
    said = {"triple": "x86_64-pc-linux-gnu", "cpu": "x", "features": features, "compiler": "1"}
    found = target_of(said)
    assert (found.lanes, found.fused, found.registers) == (lanes, fused, registers)


def test_arm_multiplies_and_adds_in_one_instruction() -> None:
    found = target_of({"triple": "arm64-apple-darwin", "cpu": "x", "features": "+neon", "compiler": "1"})
    assert (found.lanes, found.fused, found.registers) == (4, True, 32)


@needs_linux
def test_a_second_process_need_not_ask(tmp_path: Path) -> None:
    here = asdict(host())
    assert said(tmp_path) == (here, True)
    assert said(tmp_path) == (here, False)


@needs_linux
def test_another_processor_is_asked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "disk", lambda: Cache(tmp_path))
    other = replace(host(), cpu="another")
    processor.keep(other)
    assert processor.kept() == other
    monkeypatch.setattr(processor, "surroundings", lambda: "another machine")
    assert processor.kept() is None
