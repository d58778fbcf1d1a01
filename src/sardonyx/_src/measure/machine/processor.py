"""The processor of this machine: its name and microcode, the classes that it belongs to, and whether it is emulated."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from sardonyx._src.compile.linker.features import FLAGS_BY_MACHINE, host_features, saved_program_machine
from sardonyx._src.compile.llvm.host_target import find_class, processor_identity
from sardonyx._src.compile.llvm.self_test import recorded_self_test
from sardonyx._src.compile.llvm.target_classes import classes_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import SardonyxError
from sardonyx._src.runtime.limits.control_groups import ROOT, read_words

CPUINFO = "proc/cpuinfo"
NAME_FIELDS = ("model name", "uarch", "Model")  # of x86-64, RISC-V, and some boards
ARM_FIELDS = ("CPU implementer", "CPU part", "CPU variant", "CPU revision")
X86_FIELDS = ("cpu family", "model", "stepping")
EMULATED_NAMES = {"QEMU": "QEMU", "VirtualApple": "Rosetta", "TCG": "QEMU"}  # in the name of the processor
MAPS = ("proc/self/maps", "proc/thread-self/maps")  # QEMU hides itself in the first
EMULATOR_FILES = {
    "vgpreload": "Valgrind",
    "valgrind": "Valgrind",
    "qemu-": "QEMU",
    "rosetta": "Rosetta",
}  # mapped files


@dataclass(frozen=True, slots=True)
class Processor:
    """A processor, as far as the system describes it; texts are empty where it does not.

    machine: the kind of machine, as "x86_64".
    identity: vendor, family, model and stepping, or implementer, part, variant and revision.
    target: the name of the class for which code is compiled; "" for a processor of no class.
    classes: the names of all classes of the processor, the best first.
    problem: why there is no target.
    denied: features that the system does not let this process use.
    emulator: the program that executes this process in place of a processor, as "QEMU".
    is_virtual: whether a hypervisor is below the system.
    faults: the classes that have failed their self-test here, with the probe that failed, as the cache records it.
    """

    name: str
    machine: str
    identity: str
    microcode: str
    target: str
    classes: tuple[str, ...]
    problem: str
    denied: tuple[str, ...]
    emulator: str
    is_virtual: bool
    faults: tuple[str, ...] = ()


def read_processor(root: Path = ROOT) -> Processor:
    """The processor that /proc describes.  root: the root of the file system; tests pass another one."""
    machine = platform.machine()
    try:
        text = (root / CPUINFO).read_text("utf-8", "replace")
    except OSError:
        text = ""
    name = next(filter(None, (field_of(text, field) for field in NAME_FIELDS)), platform.processor())
    fields = X86_FIELDS if field_of(text, "vendor_id") else ARM_FIELDS
    parts = [field_of(text, field) for field in ("vendor_id", *fields)]
    target, problem = own_class()
    flags = set(field_of(text, "flags").split())
    usable = host_features(root / CPUINFO) if text else frozenset()
    classes = classes_by_features(usable, field_of(text, "vendor_id"), machine)
    return Processor(
        name=name,
        machine=machine,
        identity=" ".join(filter(None, parts)),
        microcode=field_of(text, "microcode"),
        target=target,
        classes=classes,
        faults=recorded_faults(classes),
        problem=problem,
        denied=tuple(sorted(flags - usable)),
        emulator=emulator_of(name, root),
        is_virtual="hypervisor" in flags,
    )


def recorded_faults(classes: tuple[str, ...]) -> tuple[str, ...]:
    """The recorded failures of self-tests of these classes; no test runs."""
    if saved_program_machine() is None:
        return ()
    outcomes = filter(None, map(recorded_self_test, classes))
    return tuple(f"{outcome.class_name}: {outcome.fault}" for outcome in outcomes if outcome.fault)


def own_class() -> tuple[str, str]:
    """The name of the class for which this process compiles, and why there is none."""
    try:
        name = next(iter(processor_identity()), "")
        return (find_class(name).name if name else ""), ""
    except SardonyxError as error:
        return "", str(error)


def classes_by_features(flags: frozenset[str], vendor: str, machine: str) -> tuple[str, ...]:
    """The names of the classes of a processor with these flags, by Linux's names."""
    names = FLAGS_BY_MACHINE.get(machine, {})
    features = {name for name, flag in names.items() if flag in flags}
    return tuple(target_class.name for target_class in classes_of(features, vendor, machine))


def emulator_of(name: str, root: Path) -> str:
    """The emulator that executes this process, by the name of the processor and by the files that are mapped; or ""."""
    for part, emulator in EMULATED_NAMES.items():
        if part in name:
            return emulator
    words = {word for path in MAPS for word in read_words(root / path)}
    files = {word.rpartition("/")[2] for word in words if "/" in word}
    return next((e for part, e in EMULATOR_FILES.items() if any(file.startswith(part) for file in files)), "")


def field_of(text: str, name: str) -> str:
    """The value of the first line of a field in /proc/cpuinfo; "" if there is none."""
    match = re.search(rf"^{re.escape(name)}[ \t]*:[ \t]*(.*)$", text, re.MULTILINE)
    return match[1].strip() if match else ""
