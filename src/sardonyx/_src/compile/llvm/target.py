"""What kernels are compiled for: the processor, what it can do, and how many floats it computes with at once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """A processor as LLVM names it.

    lanes: 32-bit floats in a vector register.  fused: whether it multiplies and adds in one instruction, and has others
    between float16 and float32, as all processors with the former do.
    registers: vector registers, which bound how much of a product a kernel can hold.  compiler: its version.
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fused: bool
    registers: int
    compiler: str

    @property
    def key(self) -> str:
        """What compiled code depends on besides its source."""
        words = "\n".join((self.compiler, self.triple, self.cpu, self.features))
        return hashlib.sha256(words.encode()).hexdigest()
