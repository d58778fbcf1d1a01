"""What kernels are compiled for: the processor, what it can do, and how many floats it computes with at once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm

WIDTHS = (("avx512f", 16), ("avx2", 8), ("avx", 8))  # 32-bit floats in a register


@dataclass(frozen=True, slots=True)
class Target:
    """A processor as LLVM names it.

    lanes: 32-bit floats in a vector register.  fused: whether it multiplies and adds in one instruction.
    registers: vector registers, which bound how much of a product a kernel can hold.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fused: bool
    registers: int

    @property
    def key(self) -> str:
        """What compiled code depends on besides its source."""
        words = "\n".join((llvmlite.__version__, self.triple, self.cpu, self.features))
        return hashlib.sha256(words.encode()).hexdigest()


@cache
def host() -> Target:
    """The processor that this process runs on."""
    start()
    found = llvm.get_host_cpu_features()
    triple = llvm.get_process_triple()
    lanes = next((lanes for name, lanes in WIDTHS if found.get(name)), 4)
    is_arm = triple.startswith(("aarch64", "arm64"))
    return Target(
        triple=triple,
        cpu=llvm.get_host_cpu_name(),
        features=found.flatten(),
        lanes=lanes,
        fused=bool(found.get("fma")) or is_arm,
        registers=32 if lanes == 16 or is_arm else 16,
    )


@cache
def start() -> None:
    """Makes LLVM ready for the processor of this process."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def machine(target: Target) -> llvm.TargetMachine:
    """A target machine of its own: an engine takes over the one that it gets."""
    start()
    found = llvm.Target.from_triple(target.triple)
    return found.create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="small"
    )
