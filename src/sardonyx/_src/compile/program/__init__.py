"""Programs: steps that call kernels, the tensors they read and write, and the memory plan.

The package exports what a kernel or a lowering needs to state a step.
"""

from sardonyx._src.compile.program.guards import Guard
from sardonyx._src.compile.program.layout import ANY, CHANNELS_LAST, DENSE
from sardonyx._src.compile.program.precision import EXACT, Precision
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import Buffer, TensorView, element_bytes, row_major_strides
from sardonyx._src.compile.program.window import Window

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
