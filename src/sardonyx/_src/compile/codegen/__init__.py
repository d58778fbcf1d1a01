"""Code generation: LLVM text of functions, from blocks and values to kernels.

The package exports what every kernel and the executor need.  `kernel_builder.KernelBuilder` is imported from its own
module, because it loads the mathematical functions, which a saved program runs without.
"""

from sardonyx._src.compile.codegen.blocks import I64, MemoryLocation
from sardonyx._src.compile.codegen.builder import Element, FunctionBuilder, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.parameters import Parameters, float32_bits
from sardonyx._src.compile.codegen.target import Target

__all__ = [
    "I64",
    "Element",
    "FunctionBuilder",
    "LLVMType",
    "LLVMValue",
    "MemoryLocation",
    "Parameters",
    "Target",
    "float32_bits",
]
