"""The compilation target: processor, instruction set features and vector width."""

from __future__ import annotations

import hashlib

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A class of processors or a processor, by LLVM's triple, CPU name and feature string.

    lanes: 32-bit floats in a vector register.
    has_fma: whether the processor has fused multiply-add.
    registers: the number of vector registers, which limits the register tiles of kernels.
    compiler: the version of llvmlite.
    vendor: of the processor, as Linux names it, or "".  Choices between kernels may depend on it, code does not.
    class_name: the name of the class, or "" for a target that is a processor itself.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    has_fma: bool
    registers: int
    compiler: str
    vendor: str = ""
    class_name: str = ""

    @property
    def converts_half(self) -> bool:
        """Whether the processor has instructions that convert float16, as all with fused multiply-add have but those of
        RISC-V."""
        return self.has_fma and not self.triple.startswith("riscv")

    @property
    def key(self) -> str:
        """A digest of everything except its source that compiled code depends on."""
        identity = "\n".join((self.compiler, self.triple, self.cpu, self.features))
        return hashlib.sha256(identity.encode()).hexdigest()
