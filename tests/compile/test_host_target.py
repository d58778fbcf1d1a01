"""The host target: a class of x86-64 processors, read from the system, or a processor that LLVM describes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import sardonyx as sx
from compile.amx_features import without_amx
from sardonyx._src.compile.linker.amx_permission import request_amx
from sardonyx._src.compile.linker.features import FLAGS_BY_MACHINE, host_features, saved_program_machine
from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm import host_target as processor
from sardonyx._src.compile.llvm.cache import ObjectCache
from sardonyx._src.compile.llvm.host_target import linux_features, target_from_info, vendor
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.target_classes import (
    AMD,
    CLASSES,
    CLASSES_BY_NAME,
    V2,
    V3,
    V4,
    V4_BF16,
    TargetClass,
    classes_of,
)

needs_x86_linux = pytest.mark.skipif(saved_program_machine() != "x86_64", reason="for x86-64 under Linux")
PRINT_TARGET = """
import json, sys
from dataclasses import asdict
from sardonyx._src.compile.llvm.jit import host_target
print(json.dumps([asdict(host_target()), "llvmlite" in sys.modules]))
"""
CHOSEN = os.environ.get("SARDONYX_TARGET", "")  # the class that the suite runs with
INFO = {"triple": "x86_64-pc-linux-gnu", "cpu": "znver4", "compiler": "1"}


def query_in_new_process(folder: Path, name: str = "") -> tuple[dict[str, object], bool]:
    """The host target in a new process, and whether the process loaded LLVM to query it."""
    environment = {**os.environ, "SARDONYX_CACHE": str(folder), "SARDONYX_TARGET": name}
    process = subprocess.run(
        [sys.executable, "-c", PRINT_TARGET], env=environment, capture_output=True, check=True
    )
    target, is_loaded = json.loads(process.stdout)
    return target, is_loaded


def text_of(features: tuple[str, ...]) -> str:
    return ",".join(f"+{name}" for name in features)


@needs_x86_linux
def test_the_system_and_llvm_describe_the_same_class() -> None:
    info = compiler.query_host_info()
    if not request_amx():  # the system may refuse what the processor has
        info["features"] = without_amx(info["features"])
    by_llvm = target_from_info(info, CHOSEN)
    names = {feature[1:] for feature in by_llvm.features.split(",")}
    assert names == {feature[1:] for feature in host_target().features.split(",")}
    assert (by_llvm.cpu, by_llvm.lanes, by_llvm.compiler) == (
        host_target().cpu,
        host_target().lanes,
        host_target().compiler,
    )


@needs_x86_linux
def test_llvm_is_not_loaded_to_describe_the_processor(tmp_path: Path) -> None:
    assert query_in_new_process(tmp_path, CHOSEN) == (asdict(host_target()), False)


@pytest.mark.parametrize("target_class", CLASSES, ids=lambda target_class: target_class.name)
def test_llvm_generates_code_for_each_class(target_class: TargetClass) -> None:
    """LLVM ignores features that it does not know, with a warning on standard error."""
    arguments = (
        "define void @f() { ret void }",
        target_class.triple,
        target_class.cpu,
        text_of(target_class.features),
    )
    script = f"from sardonyx._src.compile.llvm import compiler\nprint(len(compiler.compile_module(*{arguments})) > 100)"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (process.stdout, process.stderr) == ("True\n", "")


def test_classes_are_ordered_and_checked_when_code_is_loaded() -> None:
    """A class precedes those that it contains; its features are among those that loading a program compares."""
    for position, target_class in enumerate(CLASSES):
        assert set(target_class.features) <= FLAGS_BY_MACHINE[target_class.machine].keys()
        assert not any(
            later.machine == target_class.machine and set(later.features) > set(target_class.features)
            for later in CLASSES[position + 1 :]
        ), target_class.name


@pytest.mark.parametrize("target_class", [c for c in CLASSES if c.base], ids=lambda c: c.name)
def test_code_of_a_base_runs_on_a_class(target_class: TargetClass) -> None:
    """A base has no instructions that the class lacks, and its kernels have vectors of the same length."""
    base = CLASSES_BY_NAME[target_class.base]
    assert set(base.features) < set(target_class.features)
    assert (base.machine, base.lanes, base.vendor) == (target_class.machine, target_class.lanes, "")


@pytest.mark.parametrize(
    ("features", "name", "lanes", "has_fma", "registers"),
    [
        (("cmov", "sse2"), "x86-64", 4, False, 16),
        ((*V2, "avx"), "x86-64-v2", 4, False, 16),
        (V3, "x86-64-v3", 8, True, 16),
        (tuple(name for name in V3 if name != "f16c"), "x86-64-v2", 4, False, 16),
        ((*V4, "avxvnni"), "x86-64-v4", 16, True, 32),
        ((*V4_BF16, "avx512vbmi", "gfni"), "x86-64-v4-zen4", 16, True, 32),
    ],
)
def test_features_determine_the_class(
    features: tuple[str, ...], name: str, lanes: int, has_fma: bool, registers: int
) -> None:
    assert classes_of(features, AMD)[0].name == name
    target = target_from_info({**INFO, "features": text_of(features)})
    assert (target.lanes, target.has_fma, target.registers) == (lanes, has_fma, registers)
    # Programs of other classes do not depend on the vendor, so that they move between machines.
    assert target.vendor == (AMD if name == "x86-64-v4-zen4" else "")


@needs_x86_linux
def test_a_lower_class_can_be_chosen(tmp_path: Path) -> None:
    target, _ = query_in_new_process(tmp_path, "x86-64-v2")
    assert (target["cpu"], target["lanes"], target["has_fma"]) == ("x86-64-v2", 4, False)


def test_unknown_and_unsupported_classes_are_errors() -> None:
    info = {**INFO, "features": text_of(V3)}
    with pytest.raises(sx.InputError, match=r"SARDONYX_TARGET must be one of .*x86-64-v2.*; got 'haswell'"):
        target_from_info(info, "haswell")
    with pytest.raises(sx.UnsupportedProcessor, match="requires avx512f") as caught:
        target_from_info(info, "x86-64-v4")
    assert "avx512f" in caught.value.features


def test_processors_of_another_vendor_are_of_the_class_for_all() -> None:
    assert [c.name for c in classes_of(V4_BF16, "GenuineIntel")][:2] == ["x86-64-v4-bf16", "x86-64-v4-vnni"]
    info = {**INFO, "cpu": "sapphirerapids", "features": text_of(V4_BF16)}
    with pytest.raises(sx.UnsupportedProcessor, match="requires AuthenticAMD"):
        target_from_info(info, "x86-64-v4-zen4")


@pytest.mark.parametrize(
    ("features", "name"),
    [
        ("+neon,+crc", "aarch64"),
        ("+neon,+lse,+rdm,+fullfp16", "aarch64"),
        ("+neon,+lse,+rdm,+fullfp16,+dotprod", "aarch64-dotprod"),
        ("+neon,+lse,+rdm,+fullfp16,+dotprod,+i8mm,+sve", "aarch64-i8mm"),
        ("+crc", ""),
    ],
)
def test_features_determine_the_class_of_arm_under_linux(features: str, name: str) -> None:
    info = {"cpu": "neoverse-v1", "features": features, "compiler": "1"}
    target = target_from_info({**info, "triple": "aarch64-unknown-linux-gnu"})
    assert (target.class_name, target.lanes, target.has_fma, target.registers) == (name, 4, True, 32)
    assert target_from_info({**info, "triple": "arm64-apple-darwin"}).class_name == ""
    with pytest.raises(sx.UnsupportedProcessor, match="requires cmov"):
        target_from_info({**info, "triple": "aarch64-unknown-linux-gnu"}, "x86-64")


@pytest.mark.parametrize(
    ("isa", "name"),
    [
        ("rv64imafdc_zicntr_zicsr", "riscv64"),
        ("rv64imafdcv_zba_zbb", "riscv64-v"),
        ("rv64imafd", ""),
    ],
)
def test_the_instruction_set_determines_the_class_of_risc_v(isa: str, name: str, tmp_path: Path) -> None:
    """A feature that one of the cores lacks is none of the machine."""
    cpuinfo = tmp_path / "cpuinfo"
    cores = "".join(f"processor\t: {i}\nisa\t\t: {text}\n\n" for i, text in enumerate((isa, f"{isa}_zbs")))
    cpuinfo.write_text(cores, "utf-8")
    features = host_features(cpuinfo) & FLAGS_BY_MACHINE["riscv64"].keys()
    assert "zbs" not in host_features(cpuinfo)
    info = {"triple": "riscv64-unknown-linux-gnu", "cpu": "", "compiler": "1"}
    target = target_from_info({**info, "features": text_of((*features,))})
    assert (target.class_name, target.lanes, target.registers) == (name, 4, 32 if name else 16)
    assert target.has_fma == bool(name) and not target.converts_half


def test_arm_has_fma() -> None:
    target = target_from_info(
        {"triple": "arm64-apple-darwin", "cpu": "x", "features": "+neon", "compiler": "1"}
    )
    assert (target.lanes, target.has_fma, target.registers) == (4, True, 32)


@pytest.mark.skipif(processor.host_key() is None, reason="the host has no cache key")
def test_the_description_of_another_processor_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor, "default_cache", lambda: ObjectCache(tmp_path))
    processor.store_host_info(INFO)
    assert processor.cached_host_info() == INFO
    monkeypatch.setattr(processor, "host_key", lambda: "another machine")
    assert processor.cached_host_info() is None


@pytest.mark.parametrize("refuses", [False, True])
def test_a_system_that_does_not_describe_its_processor_has_no_identity(
    refuses: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then LLVM is asked, and programs are not cached.  refuses: whether a sandbox does, in place of a missing file."""
    cpuinfo = tmp_path / "cpuinfo"
    if refuses:
        cpuinfo.touch()
        read_text = Path.read_text

        def refuse(path: Path, *arguments: str) -> str:
            if path == cpuinfo:
                raise PermissionError(13, "Permission denied")
            return read_text(path, *arguments)

        monkeypatch.setattr(Path, "read_text", refuse)
    monkeypatch.setattr(processor, "CPUINFO", cpuinfo)
    processor.host_key.cache_clear()
    processor.host_identity.cache_clear()
    assert processor.known_host_info() is None
    assert processor.processor_identity() == ()
    monkeypatch.undo()
    processor.host_key.cache_clear()
    processor.host_identity.cache_clear()


@needs_x86_linux
def test_a_session_compiles_for_the_chosen_class(tmp_path: Path) -> None:
    """The program that one class has cached is not used for another."""
    model = tmp_path / "model.onnx"
    sx.save(
        sx.from_text(
            '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Exp(x) }'
        ),
        model,
    )
    script = (
        "import numpy as np, sardonyx as sx\n"
        f"session = sx.Session({str(model)!r}, engine='native')\n"
        "y = session.run({'x': np.linspace(-3, 3, 37, dtype=np.float32)})['y']\n"
        "print(session.stats.compilations, y.tobytes().hex())"
    )
    lines = []
    best = classes_of(linux_features(), vendor())[0].name
    for name in ("x86-64", best, "x86-64"):
        environment = {**os.environ, "SARDONYX_CACHE": str(tmp_path / "cache"), "SARDONYX_TARGET": name}
        process = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        lines.append(process.stdout.split())
    assert [line[0] for line in lines] == ["1", "1", "0"]
    assert lines[0] == ["1", lines[2][1]]
