"""The host target: queried from LLVM once, and then read from the cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm import host_target as processor
from sardonyx._src.compile.llvm.cache import ObjectCache
from sardonyx._src.compile.llvm.host_target import target_from_info
from sardonyx._src.compile.llvm.jit import host_target

needs_linux = pytest.mark.skipif(processor.host_key() is None, reason="the host has no cache key")
PRINT_TARGET = """
import json, sys
from dataclasses import asdict
from sardonyx._src.compile.llvm.jit import host_target
print(json.dumps([asdict(host_target()), "llvmlite" in sys.modules]))
"""


def query_in_new_process(folder: Path) -> tuple[dict[str, object], bool]:
    """The host target in a new process, and whether the process loaded LLVM to query it."""
    environment = {**os.environ, "SARDONYX_CACHE": str(folder)}
    process = subprocess.run(
        [sys.executable, "-c", PRINT_TARGET], env=environment, capture_output=True, check=True
    )
    target, is_loaded = json.loads(process.stdout)
    return target, is_loaded


def test_the_target_is_that_of_llvm() -> None:
    assert host_target() == target_from_info(compiler.query_host_info())


@pytest.mark.parametrize(
    ("features", "lanes", "has_fma", "registers"),
    [
        ("+sse2,-avx,-avx2,-avx512f,-fma", 4, False, 16),
        ("+sse2,+avx,-avx2,-avx512f,-fma", 8, False, 16),
        ("+avx,+avx2,-avx512f,+fma,+f16c", 8, True, 16),
        ("+avx,+avx2,-avx512f,+fma,-f16c", 8, False, 16),
        ("+avx,+avx2,+avx512f,+fma,+f16c", 16, True, 32),
    ],
)
def test_features_determine_the_registers(features: str, lanes: int, has_fma: bool, registers: int) -> None:
    host_info = {"triple": "x86_64-pc-linux-gnu", "cpu": "x", "features": features, "compiler": "1"}
    target = target_from_info(host_info)
    assert (target.lanes, target.has_fma, target.registers) == (lanes, has_fma, registers)


def test_arm_has_fma() -> None:
    target = target_from_info(
        {"triple": "arm64-apple-darwin", "cpu": "x", "features": "+neon", "compiler": "1"}
    )
    assert (target.lanes, target.has_fma, target.registers) == (4, True, 32)


@needs_linux
def test_a_second_process_reads_the_cache(tmp_path: Path) -> None:
    expected = asdict(host_target())
    assert query_in_new_process(tmp_path) == (expected, True)
    assert query_in_new_process(tmp_path) == (expected, False)


@needs_linux
def test_the_target_of_another_processor_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "default_cache", lambda: ObjectCache(tmp_path))
    other = replace(host_target(), cpu="another")
    processor.store_target(other)
    assert processor.load_cached_target() == other
    monkeypatch.setattr(processor, "host_key", lambda: "another machine")
    assert processor.load_cached_target() is None
