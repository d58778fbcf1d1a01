"""Probes of kernels: every class computes what they expect, and a fault in a kernel of any kind is noticed, and named."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import sardonyx as sx
from probes import (
    call_cases,
    contract_cases,
    element_cases,
    image_cases,
    official_cases,
    product_cases,
    row_cases,
)
from probes.case_builder import KernelCase
from probes.expected import expected_results, has_fma
from probes.kernel_cases import kernel_cases
from probes.kernels import Results, compile_kernel_probes, probed_kernels
from probes.step_cases import StepCase
from probes.unprobed_kinds import UNPROBED
from replay_corpus import node_cases
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.linker.elf import ElfObject
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm import kernel_library, probe_process
from sardonyx._src.compile.llvm import probes as runner
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.executable_memory import ExecutableMemory
from sardonyx._src.compile.llvm.host_target import compiler_version, linux_features, vendor
from sardonyx._src.compile.llvm.jit import object_code
from sardonyx._src.compile.llvm.kernel_library import symbol_of
from sardonyx._src.compile.llvm.kernel_probes import find_kernel_fault
from sardonyx._src.compile.llvm.kernel_probes_file import (
    KernelProbes,
    read_kernel_probes,
    write_kernel_probes,
)
from sardonyx._src.compile.llvm.loaded_kernels import kernel_module
from sardonyx._src.compile.llvm.probe_process import ProbeFault
from sardonyx._src.compile.llvm.probes import run_class_probes
from sardonyx._src.compile.llvm.probes_file import read_probes
from sardonyx._src.compile.llvm.target_classes import (
    CLASSES_BY_NAME,
    KERNEL_PROBES_PATH,
    PROBES_PATH,
    classes_of,
    target_of,
)
from sardonyx._src.runtime.kernel_library.building import kernels_of, library_modules
from sardonyx._src.runtime.kernel_library.variants import variant_models

MACHINE = saved_program_machine() or ""
CLASSES = [c for c in classes_of(linux_features(MACHINE), vendor(), MACHINE) if has_fma(c)] if MACHINE else []
NAMES = [target_class.name for target_class in CLASSES]
pytestmark = pytest.mark.skipif(not NAMES, reason="probes of kernels are for Linux")
FAMILIES: Mapping[str, Callable[[], Iterator[KernelCase | StepCase]]] = {
    "products": product_cases.cases,
    "images": image_cases.cases,
    "rows": row_cases.cases,
    "elements": element_cases.cases,
    "official": official_cases.cases,
    "contracts": contract_cases.cases,
    "calls": call_cases.cases,
}
STEPS = ("contracts", "calls")  # of which tests of contracts run many more cases of every class
CHECKS = ("nonzero_check_int64", "nonzero_check_bool")  # kernels that write only if operands are wrong
INSTRUCTIONS = {  # that return, are undefined, and jump to themselves
    "x86_64": (b"\xc3", b"\x0f\x0b", b"\xeb\xfe"),
    "aarch64": (b"\xc0\x03\x5f\xd6", b"\0\0\0\0", b"\0\0\0\x14"),
}


@dataclass(frozen=True)
class FamilyProbes:
    """The probes of some cases for a class, and the object code of their kernels."""

    name: str
    probes: KernelProbes
    codes: Mapping[str, bytes]

    def find_fault(self, patched: str = "", code: bytes = b"") -> ProbeFault | None:
        """Runs the probes; patched: a kernel with other object code."""
        probes = read_probes(PROBES_PATH, self.name)
        memory = ExecutableMemory(probes.code, probes.functions, {})
        return find_kernel_fault(self.probes, {**self.codes, patched: code}.get, memory)

    def replace_start(self, kernel: str, instruction: int) -> bytes:
        """The code of a kernel whose function begins with another instruction."""
        code = bytearray(self.codes[kernel])
        parsed = ElfObject(bytes(code))
        (symbol,) = (s for s in parsed.symbols if s.name == symbol_of(kernel))
        start = parsed.sections[symbol.section].offset + symbol.value
        content = INSTRUCTIONS[MACHINE][instruction]
        code[start : start + len(content)] = content
        return bytes(code)


def class_target(name: str) -> Target:
    target_class = CLASSES_BY_NAME[name]
    return target_of(target_class, target_class.triple, compiler_version() or "", vendor())


@cache
def probes_of(family: str, name: str) -> FamilyProbes:
    """The probes of a family."""
    cases, target = [*FAMILIES[family]()], class_target(name)
    probes = compile_kernel_probes(target, cases, results_of(family))
    kernels = {kernel.key: kernel for kernel in probed_kernels(target, cases)}
    modules = [kernel_module(kernels[key], target) for key in probes.kernels]
    return FamilyProbes(name, probes, {m.name: object_code(m, default_cache(), target) for m in modules})


@cache
def results_of(family: str) -> Results:
    return expected_results([case.name for case in FAMILIES[family]()])


def families_of_classes() -> list[tuple[str, str]]:
    """Each family with each class; those of steps with the first and the last class."""
    ends = [*dict.fromkeys((*NAMES[:1], *NAMES[-1:]))]
    return [(family, name) for family in FAMILIES for name in (ends if family in STEPS else NAMES)]


@pytest.mark.parametrize(("family", "name"), families_of_classes())
def test_kernels_compute_what_their_probes_expect(family: str, name: str) -> None:
    """Results that the kernels of another class have computed, beside the reference engine."""
    assert probes_of(family, name).find_fault() is None


@pytest.mark.skipif(MACHINE not in INSTRUCTIONS, reason="patches machine code")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_fault_in_a_kernel_of_each_kind_is_noticed(family: str) -> None:
    """A kernel that computes nothing, and one with an instruction that the processor does not have."""
    probes = probes_of(family, NAMES[0])
    kinds = {kernel_library.kind_of(key): key for key in probes.probes.kernels}
    for kernel in kinds.values():
        fault = probes.find_fault(kernel, probes.replace_start(kernel, 0))
        is_named = fault is not None and fault.how == "gives wrong values" and kernel in fault.probe
        # A later kernel of the program may take what is not written for indices.
        has_crashed = fault is not None and fault.how == "ends with SIGSEGV"
        assert is_named or has_crashed or kernel in CHECKS, (kernel, fault)
        fault = probes.find_fault(kernel, probes.replace_start(kernel, 1))
        assert fault is not None and fault.how == "ends with SIGILL" and fault.probe.startswith(kernel)
    assert len(kinds) > 5


def library_kinds(target: Target) -> set[str]:
    """The kinds of the kernels of a library: of the variant models, and of official cases of each operator."""
    cases = (sx.load(case.model) for case in node_cases())
    models = (*(model for _, model in variant_models()), *cases)
    return {kernel_library.kind_of(module) for module in library_modules(kernels_of(models, target), target)}


def unlisted_kinds(kinds: Iterable[str], probed: Iterable[str]) -> list[str]:
    """The kinds that have neither a probe nor a reason for none."""
    return sorted({*kinds} - {*probed} - {*UNPROBED})


@pytest.mark.parametrize("name", NAMES[-1:])
def test_each_kind_of_kernel_has_a_probe_or_a_reason_for_none(name: str) -> None:
    target = class_target(name)
    probed = {kernel_library.kind_of(kernel.key) for kernel in probed_kernels(target, kernel_cases())}
    kinds = library_kinds(target)
    assert unlisted_kinds(kinds, probed) == []
    assert unlisted_kinds({*kinds, "new_kernel_"}, probed) == ["new_kernel_"]
    assert sorted(probed & UNPROBED.keys()) == [], "kinds with probes need no reason"


@pytest.mark.skipif(MACHINE not in INSTRUCTIONS, reason="patches machine code")
def test_a_kernel_that_does_not_end_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_process, "MAX_SECONDS", 1)
    probes = probes_of("rows", NAMES[0])
    kernel = probes.probes.kernels[3]
    fault = probes.find_fault(kernel, probes.replace_start(kernel, 2))
    assert fault is not None and fault.how == "does not end" and fault.probe.startswith(kernel)


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FamilyProbes]:
    """The probes and the library of a wheel, for one class."""
    probes = probes_of("rows", NAMES[0])
    kernel_library.write_library(tmp_path / f"{probes.name}.kernels", {probes.name: probes.codes})
    write_kernel_probes(tmp_path / "probes.kernels", {probes.name: probes.probes})
    monkeypatch.setattr(kernel_library, "FOLDER", tmp_path)
    monkeypatch.setattr(runner, "KERNEL_PROBES_PATH", tmp_path / "probes.kernels")
    kernel_library.class_library.cache_clear()
    yield probes
    monkeypatch.undo()
    kernel_library.class_library.cache_clear()


def test_a_wheel_is_tested_with_the_kernels_of_its_library(wheel: FamilyProbes) -> None:
    assert run_class_probes(wheel.name) is None
    assert run_class_probes(NAMES[-1]) is None, "the file has no probes of this class"
    kernel = wheel.probes.kernels[5]
    wrong = {**wheel.codes, kernel: wheel.replace_start(kernel, 0)}
    kernel_library.write_library(kernel_library.FOLDER / f"{wheel.name}.kernels", {wheel.name: wrong})
    kernel_library.class_library.cache_clear()
    fault = run_class_probes(wheel.name)
    assert fault is not None and kernel in fault.probe


def test_the_file_keeps_what_it_is_given(wheel: FamilyProbes) -> None:
    assert read_kernel_probes(kernel_library.FOLDER / KERNEL_PROBES_PATH.name, wheel.name) == wheel.probes


def test_without_the_library_only_instructions_are_tested(wheel: FamilyProbes) -> None:
    (kernel_library.FOLDER / f"{wheel.name}.kernels").unlink()
    assert run_class_probes(wheel.name) is None


def test_a_library_that_lacks_a_kernel_is_a_warning(
    wheel: FamilyProbes, caplog: pytest.LogCaptureFixture
) -> None:
    kernel = wheel.probes.kernels[5]
    codes = {key: code for key, code in wheel.codes.items() if key != kernel}
    assert FamilyProbes(wheel.name, wheel.probes, codes).find_fault() is None
    assert kernel in caplog.text


@pytest.mark.parametrize("size", [0, 100, 0.5, 0.9])
def test_damaged_probes_of_kernels_are_named(wheel: FamilyProbes, size: float) -> None:
    path = kernel_library.FOLDER / KERNEL_PROBES_PATH.name
    content = path.read_bytes()
    path.write_bytes(content[: int(size if size >= 1 else size * len(content))])
    with pytest.raises(sx.DecodeError, match=r"probes\.kernels"):
        run_class_probes(wheel.name)
