"""What `doctor` reads of a machine, and what it finds unusual: files and facts made for the test."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import sardonyx as sx
from sardonyx._src.compile.llvm.self_test import SelfTest
from sardonyx._src.measure.machine import processor, report, surroundings
from sardonyx._src.measure.machine.advice import MachineFacts, advise
from sardonyx._src.measure.machine.calibration import Calibration
from sardonyx._src.measure.machine.processor import Processor, read_processor
from sardonyx._src.measure.machine.surroundings import Allotment, FolderState, Surroundings, read_allotment
from sardonyx._src.runtime.limits.topology import CoreKind, Topology

FOLDER = FolderState("/cache", 1 << 20, 1 << 40, "")
FACTS = MachineFacts(
    Processor("a processor", "x86_64", "v 1 2 3", "0x1", "x86-64-v4", ("x86-64-v4", "x86-64-v3"), "", (), "", False),
    Topology((0, 1, 2, 3), 4),
    Allotment(4, None, 4, 1 << 34, None, 1 << 33, 0.5),
    Surroundings({"llvmlite": "1"}, FOLDER, 1 << 32, 1 << 28, FOLDER, "all.kernels", {}),
    Calibration(0.0, 0.2, 4, {"float32": 1e11}, (), 1e-6, 1e-7, 1.0),
    "",
    flushes_subnormals=False,
)  # fmt: skip


def tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


# --- advice ----------------------------------------------------------------------------------


def changed(part: str, **fields: object) -> MachineFacts:
    return replace(FACTS, **{part: replace(getattr(FACTS, part), **fields)})


def test_nothing_is_unusual_about_an_ordinary_machine() -> None:
    assert advise(FACTS) == []


UNUSUAL = {
    "no-llvmlite": changed("surroundings", versions={}),
    "wrong-target": changed("processor", problem="SARDONYX_TARGET must be a class", target=""),
    "engine-fails": replace(FACTS, failure="OSError: no executable memory"),
    "lower-class": replace(
        changed("processor", target="x86-64-v3"),
        surroundings=replace(FACTS.surroundings, variables={"SARDONYX_TARGET": "x86-64-v3"}),
    ),
    "failed-class": changed("processor", target="x86-64-v3"),
    "no-class": changed("processor", target="", classes=()),
    "emulator": changed("processor", emulator="QEMU"),
    "denied-features": changed("processor", denied=("amx_tile",)),
    "quota": changed("allotment", quota=1.5, threads=2),
    "affinity": changed("allotment", affinity=2, threads=2),
    "hybrid": changed("topology", kinds=(CoreKind("performance", (0, 1)), CoreKind("efficiency", (2, 3)))),
    "busy": changed("allotment", load=4.5),
    "too-many-threads": changed("surroundings", variables={"OMP_NUM_THREADS": "64"}),
    "memory-limit": changed("allotment", group_memory=1 << 31),
    "little-memory": changed("allotment", free=1 << 28),
    "no-cache": changed("surroundings", cache=None),
    "cache-not-writable": changed("surroundings", cache=replace(FOLDER, problem="it cannot be written to")),
    "cache-disk-full": changed("surroundings", cache=replace(FOLDER, free=1 << 20)),
    "temporary-folder": changed("surroundings", temporary=replace(FOLDER, free=0)),
    "no-kernel-library": changed("surroundings", library=""),
    "flush-to-zero": replace(FACTS, flushes_subnormals=True),
    "slow-subnormals": changed("calibration", subnormals=37.0),
}
FATAL = {"no-llvmlite", "wrong-target", "engine-fails"}


def test_a_class_that_failed_its_test_is_named_with_its_probe() -> None:
    (advice,) = advise(
        changed("processor", target="x86-64-v3", faults=("x86-64-v4: fma float gives wrong values",))
    )
    assert advice.name == "failed-class" and advice.what.endswith(
        "is not used: x86-64-v4: fma float gives wrong values"
    )


def test_faults_are_those_that_the_cache_records(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = {"a": SelfTest("a", "fma float ends with SIGILL"), "b": SelfTest("b", "")}
    monkeypatch.setattr(processor, "recorded_self_test", outcomes.get)
    monkeypatch.setattr(processor, "saved_program_machine", lambda: "x86_64")
    assert processor.recorded_faults(("a", "b", "c")) == ("a: fma float ends with SIGILL",)


@pytest.mark.parametrize("name", UNUSUAL)
def test_what_is_unusual_has_a_name_and_a_cure(name: str) -> None:
    (advice,) = advise(UNUSUAL[name])
    assert advice.name == name and advice.what and advice.cure
    assert advice.is_fatal == (name in FATAL)
    assert report.MachineReport(UNUSUAL[name], [advice]).ok == (name not in FATAL)


@pytest.mark.parametrize(
    "facts",
    [
        changed("allotment", quota=4.0),
        changed("allotment", load=4.0),
        changed("allotment", memory=None, free=None),
        changed("surroundings", variables={"OMP_NUM_THREADS": "4", "OPENBLAS_NUM_THREADS": "auto"}),
        changed("allotment", group_memory=1 << 34),
        replace(FACTS, calibration=None),
        replace(FACTS, topology=Topology()),
    ],
)
def test_what_is_at_a_limit_is_not_unusual(facts: MachineFacts) -> None:
    assert advise(facts) == []


def test_the_cure_names_the_variable_only_if_it_is_set() -> None:
    """Without it, every class has failed its test, or the probes are damaged."""
    (unset,) = advise(UNUSUAL["wrong-target"])
    stated = replace(FACTS.surroundings, variables={"SARDONYX_TARGET": "aarch64"})
    (wrong,) = advise(replace(UNUSUAL["wrong-target"], surroundings=stated))
    assert "SARDONYX_TARGET" in wrong.cure and "SARDONYX_TARGET" not in unset.cure


def test_part_of_a_processor_is_said_to_stall() -> None:
    (part,), (whole,) = advise(UNUSUAL["quota"]), advise(changed("allotment", quota=2.0, threads=2))
    assert "grants 1.5 of 4 processors: sessions use 2 threads; the group is stopped" in part.what
    assert "grants 2 of 4 processors" in whole.what and "stopped" not in whole.what


# --- the processor ---------------------------------------------------------------------------

X86 = """processor : 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: A Xeon
stepping\t: 8
microcode\t: 0x2b000181
flags\t\t: fpu cmov sse2 %s
"""
V3 = "cx16 pni ssse3 sse4_1 sse4_2 lahf_lm popcnt avx avx2 bmi1 bmi2 f16c fma abm movbe"


def processor_of(
    tmp_path: Path, files: Mapping[str, str], monkeypatch: pytest.MonkeyPatch, machine: str
) -> Processor:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    return read_processor(tree(tmp_path, files))


def test_a_processor_of_intel_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"proc/cpuinfo": X86 % f"{V3} hypervisor"}
    processor = processor_of(tmp_path, files, monkeypatch, "x86_64")
    assert processor.name == "A Xeon" and processor.identity == "GenuineIntel 6 143 8"
    assert processor.microcode == "0x2b000181" and processor.is_virtual
    assert processor.classes == ("x86-64-v3", "x86-64-v2", "x86-64")
    assert (processor.denied, processor.emulator) == ((), "")


def test_features_that_only_one_kind_of_cores_has_are_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"proc/cpuinfo": X86 % f"{V3} avx512f" + "\n" + X86 % V3}
    assert processor_of(tmp_path, files, monkeypatch, "x86_64").denied == ("avx512f",)


def test_a_processor_of_arm_is_named_by_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpuinfo = "CPU implementer\t: 0x41\nCPU part\t: 0xd40\nCPU variant\t: 0x1\nFeatures\t: fp asimd\n"
    processor = processor_of(tmp_path, {"proc/cpuinfo": cpuinfo}, monkeypatch, "aarch64")
    assert processor.identity == "0x41 0xd40 0x1" and processor.classes == ("aarch64",)


def test_a_system_without_a_description_has_no_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = processor_of(tmp_path, {}, monkeypatch, "arm64")
    assert (processor.machine, processor.classes, processor.microcode) == ("arm64", (), "")


@pytest.mark.parametrize(
    ("name", "maps", "emulator"),
    [
        ("QEMU Virtual CPU version 2.5+", "", "QEMU"),
        ("VirtualApple @ 2.50GHz", "", "Rosetta"),
        ("A Xeon", "7f00-7f01 r-xp 0 08:01 7 /usr/libexec/valgrind/vgpreload_core-amd64-linux.so\n", "Valgrind"),
        ("A Xeon", "7f00-7f01 r-xp 0 08:01 7 /usr/bin/qemu-x86_64-static\n", "QEMU"),
        ("A Xeon", "7f00-7f01 r-xp 0 08:01 7 /home/qemu-images/libc.so\n", ""),
        ("A Xeon", "", ""),
    ],
)  # fmt: skip
def test_emulators_are_recognized(
    name: str, maps: str, emulator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"proc/cpuinfo": (X86 % V3).replace("A Xeon", name), "proc/thread-self/maps": maps}
    assert processor_of(tmp_path, files, monkeypatch, "x86_64").emulator == emulator


# --- processors, memory and folders ----------------------------------------------------------


def test_quotas_are_not_rounded(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "0::/a\n",
        "proc/meminfo": "MemTotal: 1000 kB\nMemAvailable: 600 kB\n",
        "sys/fs/cgroup/cpu.max": "max 100000",
        "sys/fs/cgroup/a/cpu.max": "150000 100000",
        "sys/fs/cgroup/a/memory.max": "500000",
        "sys/fs/cgroup/a/memory.current": "100000",
    }
    allotment = read_allotment(tree(tmp_path, files))
    assert (allotment.quota, allotment.group_memory, allotment.memory) == (1.5, 500_000, 1_024_000)
    assert allotment.free == 400_000


def test_a_limit_of_version_1_that_is_none_is_none(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "3:memory:/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
    }
    allotment = read_allotment(tree(tmp_path, files))
    assert (allotment.quota, allotment.group_memory, allotment.memory, allotment.free) == (None,) * 4


def test_a_folder_that_can_be_used_has_its_bytes(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    state = surroundings.inspect_cache(folder)
    assert (state.problem, state.bytes) == ("", 0) and not [*folder.iterdir()]
    tree(folder, {"a/b": "12345", "c": "1"})
    assert surroundings.inspect_cache(folder).bytes == 6


def test_a_folder_that_cannot_be_used_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "it cannot be created" in surroundings.inspect_cache(tmp_path / "file" / "cache").problem
    assert "it cannot be written to" in surroundings.inspect_temporary(tmp_path / "none").problem
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert surroundings.inspect_cache(shared).problem


# --- the report ------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SARDONYX_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path / "cache"


def test_a_machine_is_measured_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
    first, second, third = sx.tools.doctor(), sx.tools.doctor(), sx.tools.doctor(again=True)
    assert first and first.facts.calibration == second.facts.calibration
    assert first.facts.calibration is not None and third.facts.calibration is not None
    assert third.facts.calibration.time > first.facts.calibration.time
    assert first.facts.surroundings.cache is not None
    assert first.facts.surroundings.cache.path == str(cache)
    assert first.facts.surroundings.variables["OMP_NUM_THREADS"] == "1"
    assert json.loads(json.dumps(first.as_json()))["processor"]["target"] == first.facts.processor.target


def test_a_busy_machine_is_measured_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (1e6, 0.0, 0.0), raising=False)
    first, second = sx.tools.doctor(), sx.tools.doctor()
    assert first.facts.calibration is not None and second.facts.calibration is not None
    assert first.facts.calibration.time < second.facts.calibration.time
    assert "busy" in [advice.name for advice in second.advice]


def test_a_machine_without_native_code_is_not_measured(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "find_native_failure", lambda: "OSError: no executable memory")
    result = sx.tools.doctor()
    assert not result and result.facts.calibration is None
    assert [advice.name for advice in result.advice if advice.is_fatal] == ["engine-fails"]


def test_this_process_keeps_subnormals() -> None:
    assert not report.flushes_subnormals()


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="again must be"):
        sx.tools.doctor(again=1)  # type: ignore[arg-type]
