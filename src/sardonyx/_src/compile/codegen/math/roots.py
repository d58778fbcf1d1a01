"""sqrt, rsqrt and reciprocal, by the processor's square root and division."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.function import vector_function


@vector_function
def sqrt(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The square root, correctly rounded."""
    return builder.call_intrinsic("sqrt", x)


@vector_function
def rsqrt(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """1 / sqrt(x), within 1.5 ulp; infinite at zero, with its sign."""
    return 1 / builder.call_intrinsic("sqrt", x)


@vector_function
def reciprocal(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """1 / x, correctly rounded."""
    return 1 / x
