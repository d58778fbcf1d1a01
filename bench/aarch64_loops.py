"""What do the inner loops of the main kernels consist of on AArch64, and how near can they come to a processor's peak?

    python bench/aarch64_loops.py

Needs no such processor: LLVM compiles the kernels for the classes of AArch64 as text, whose loops are read.  The *inner
loop* of a kernel is the one that adds products to most registers, of all that contain no other.  A *spill* is a load or
store of the stack in it.  The *bound* is the share of a core's peak of multiply-adds that the loop can reach at most, if
no result is waited for: by the units that multiply, by those that load, and by the instructions that begin in a cycle.
Classes that are not listed have the loop of the one above.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np

import sardonyx as sx
from latency import header, line
from measure import FOLDER
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm.host_target import compiler_version
from sardonyx._src.compile.llvm.loaded_kernels import kernel_module
from sardonyx._src.compile.llvm.target_classes import AARCH64, CLASSES, target_of
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array

PAGE = FOLDER.parent / "docs" / "generated" / "aarch64_loops.md"
LABEL = re.compile(r"^(\.L\w+):")
BRANCH = re.compile(r"^\t(?:b|b\.\w+|cbn?z|tbn?z)\t.*?(\.L\w+)$")
MULTIPLY_ADD = re.compile(r"^\t(?:fml[as]|ml[as]|[su]ml[as]l2?|[su]dot|usdot)\t(\w+)")
LOAD = re.compile(r"^\tld(?:r|ur|p|np|[1-4]r?)\t\{? ?([bhsdqv]\d+\S*(?: [bhsdqv]\d+\S*)*)")
STACK = re.compile(r"^\t(?:ld|st)\w+\t.*\[sp\b")


@dataclass(frozen=True)
class Core:
    """A core: vector multiply-adds, loads of vectors, and instructions in a cycle."""

    name: str
    multipliers: int
    loads: int
    width: int


# By the pipelines in Arm's software optimization guides of Neoverse N1, which Cortex-A76 resembles, and of Neoverse V1.
CORES = (Core("Neoverse N1, Cortex-A76", 2, 2, 4), Core("Neoverse V1", 4, 3, 8))


@dataclass(frozen=True)
class Loop:
    """The instructions of an inner loop."""

    lines: tuple[str, ...]

    @property
    def multiply_adds(self) -> int:
        return sum(bool(MULTIPLY_ADD.match(text)) for text in self.lines)

    @property
    def loads(self) -> int:
        """Vector registers that are loaded: two of one instruction take two units."""
        matches = (LOAD.match(text) for text in self.lines)
        return sum(len(match[1].split()) for match in matches if match)

    @property
    def spills(self) -> int:
        return sum(bool(STACK.match(text)) for text in self.lines)

    @property
    def rank(self) -> tuple[int, float]:
        """By which a kernel's inner loop is the greatest: registers that products are added to, and products by instruction."""
        matches = (MULTIPLY_ADD.match(text) for text in self.lines)
        return len({match[1] for match in matches if match}), self.multiply_adds / len(self.lines)

    def bound(self, core: Core) -> float:
        """The largest share of the peak of multiply-adds."""
        least = self.multiply_adds / core.multipliers
        return least / max(least, self.loads / core.loads, len(self.lines) / core.width)


def inner_loops(assembly: str) -> Iterator[Loop]:
    """The loops of a text that contain no other: from a label to a branch back to it, with no label of a loop between."""
    lines: list[str] = []
    starts: dict[str, int] = {}
    for text in assembly.splitlines():
        if label := LABEL.match(text):
            starts[label[1]] = len(lines)
        elif text.startswith("\t") and not text.startswith("\t."):
            lines.append(text)
            branch = BRANCH.match(text)
            if branch and branch[1] in starts:
                start = starts[branch[1]]
                yield Loop(tuple(lines[start:]))
                starts = {name: position for name, position in starts.items() if position > start}


# --- kernels -----------------------------------------------------------------------------------


def product() -> sx.ir.Model:
    builder = sx.Builder(opset=21)
    return builder.model(y=builder.input("x", "float32", [512, 512]) @ floats(512, 512))


def convolution(channels: int, columns: int, groups: int, size: int) -> sx.ir.Model:
    builder = sx.Builder(opset=21)
    x = builder.input("x", "float32", [1, channels, 56, 56])
    weights = floats(columns, channels // groups, size, size)
    return builder.model(y=builder.Conv(x, weights, group=groups, pads=[size // 2] * 4))


def int8_product() -> sx.ir.Model:
    builder = sx.Builder(opset=21)
    weights = np.random.default_rng(0).integers(-128, 128, (512, 512)).astype(np.int8)
    return builder.model(y=builder.MatMulInteger(builder.input("x", "uint8", [512, 512]), weights))


def floats(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


MODELS: dict[str, Callable[[], sx.ir.Model]] = {
    "product of matrices": product,
    "transforms of a Winograd convolution 3x3": lambda: convolution(64, 64, 1, 3),
    "convolution 1x1": lambda: convolution(64, 128, 1, 1),
    "convolution 5x5": lambda: convolution(64, 64, 1, 5),
    "depthwise convolution 3x3": lambda: convolution(64, 64, 64, 3),
    "product of int8 matrices": int8_product,
}


def kernel_loop(model: sx.ir.Model, target: Target) -> Loop:
    """The inner loop of all kernels of a model."""
    modules = (kernel_module(kernel, target) for kernel in compile_model(model, target).program.kernels)
    loops = (loop for module in modules for loop in inner_loops(assembly_of(module.text(), target)))
    return max(loops, key=lambda loop: loop.rank)


def assembly_of(text: str, target: Target) -> str:
    """The assembly of a module, compiled as `compiler.compile_module` does."""
    machine = compiler.create_target_machine(target.triple, target.cpu, target.features)
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(machine.target_data)
    compiler.run_passes(module, machine, is_long=len(text) >= compiler.LONG_MODULE)
    assembly: str = machine.emit_assembly(module)
    return assembly


# --- page --------------------------------------------------------------------------------------


def rows() -> Iterator[str]:
    classes = [target_class for target_class in CLASSES if target_class.machine == AARCH64]
    for title, build in MODELS.items():
        printed: set[Loop] = set()
        for target_class in reversed(classes):
            target = target_of(target_class, target_class.triple, compiler_version() or "")
            loop = kernel_loop(build(), target)
            if loop not in printed:  # classes with more features have the same loop, or another one
                counts = (loop.multiply_adds, loop.loads, loop.spills, len(loop.lines))
                bounds = (f"{loop.bound(core):.0%}" for core in CORES)
                yield line(title, target_class.name, *counts, *bounds)
            printed.add(loop)


def main() -> None:
    question, _, method = (__doc__ or "").strip().split("\n\n")
    columns = ("kernel", "class", "multiply-adds", "vector loads", "spills", "instructions")
    parts = [
        "# Inner loops on AArch64",
        f"Written by `bench/aarch64_loops.py`. {question}",
        method.replace(".  ", ". "),
        "\n".join((header(*columns, *(core.name for core in CORES)), *rows())),
    ]
    PAGE.write_text("\n\n".join(parts) + "\n", "utf-8")


if __name__ == "__main__":
    main()
