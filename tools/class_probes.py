"""Writes the probes of all classes of processors (`sardonyx._src.compile.llvm.probes`) if they are not those of tools/probes;
with `--check` only says so.

    python tools/class_probes.py [--check]

LLVM compiles for any class on any machine.  The file states a hash of the text of each class: versions of LLVM differ in
the code, so that only texts are compared.  Probes of kernels are written with the kernel libraries of a wheel
(`tools/kernel_library.py`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence

from probes import floats, integers, memory, processors
from probes.modules import module_text
from probes.probe import Column, Probe
from sardonyx._src.compile.linker import link
from sardonyx._src.compile.llvm.compiler import compile_module
from sardonyx._src.compile.llvm.probes_file import (
    ClassProbes,
    ExpectedResult,
    has_probes,
    read_probes,
    write_probes,
)
from sardonyx._src.compile.llvm.target_classes import CLASSES, PROBES_PATH, TargetClass

PROBES: tuple[Probe, ...] = (*floats.PROBES, *integers.PROBES, *memory.PROBES, *processors.PROBES)
FUNCTIONS = ("run_probes", "run_calls", "run_in_child")
ALIGN = 64  # of operands and results


def probes_of(target_class: TargetClass) -> list[Probe]:
    """The probes of instructions that a class has."""
    return [probe for probe in PROBES if probe.applies(target_class)]


class Data:
    """Operands and expected results, each distinct column once, at multiples of 64 bytes."""

    def __init__(self, probes: Sequence[Probe]) -> None:
        self.places: dict[Column, int] = {}
        content = bytearray()
        for probe in probes:
            for column in (*probe.inputs, probe.expected):
                if column not in self.places:
                    self.places[column] = len(content)
                    content += column.content()
                    content += bytes(-len(content) % ALIGN)
        self.content = bytes(content)


def digest(text: str, data: Data) -> str:
    """The hash of a text and of the data that it computes with."""
    return hashlib.sha256(text.encode() + data.content).hexdigest()


def compile_probes(target_class: TargetClass, probes: Sequence[Probe], data: Data) -> ClassProbes:
    text = module_text(target_class, probes, data.places)
    features = ",".join(f"+{name}" for name in target_class.features)
    code = compile_module(text, target_class.triple, target_class.cpu, features)
    image = link.link_objects([code], FUNCTIONS)
    assert not image.slots, f"probes must call no function of the C library; got {[*image.slots]}"
    results = tuple(
        ExpectedResult(probe.name, data.places[probe.expected], len(probe.expected.content()))
        for probe in probes
    )
    return ClassProbes(bytes(image.code), image.functions, data.content, results, digest(text, data))


def stale_classes() -> list[str]:
    """The classes whose probes in the package were compiled from others than these."""
    data = Data(PROBES)
    texts = {c.name: module_text(c, probes_of(c), data.places) for c in CLASSES}
    return [
        name
        for name, text in texts.items()
        if not has_probes(PROBES_PATH, name) or read_probes(PROBES_PATH, name).digest != digest(text, data)
    ]


def main(check: bool) -> int:
    stale = stale_classes()
    if check or not stale:
        print(f"out of date: {', '.join(stale)}" if stale else f"{PROBES_PATH.name} is current")
        return 1 if stale else 0
    data = Data(PROBES)
    write_probes(PROBES_PATH, {c.name: compile_probes(c, probes_of(c), data) for c in CLASSES})
    print(f"written: {PROBES_PATH.name}, {PROBES_PATH.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
