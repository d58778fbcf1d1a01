"""Programs: steps that call kernels, the tensors they read and write, and the memory plan.

The package exports what a kernel or a lowering needs to state a step.
"""

from sardonyx._src.compile.program.operands.layout import ANY, CHANNELS_LAST, DENSE
from sardonyx._src.compile.program.operands.tensor import Buffer, TensorView, element_bytes, row_major_strides
from sardonyx._src.compile.program.operands.window import Window
from sardonyx._src.compile.program.steps.guards import Guard
from sardonyx._src.compile.program.steps.precision import EXACT, Precision
from sardonyx._src.compile.program.steps.step import Kernel, KernelArgument, Step

__all__ = [
    "ANY",
    "CHANNELS_LAST",
    "DENSE",
    "EXACT",
    "Buffer",
    "Guard",
    "Kernel",
    "KernelArgument",
    "Precision",
    "Step",
    "TensorView",
    "Window",
    "element_bytes",
    "row_major_strides",
]
