"""Steps of a batched integer GEMM, int8 x int8 -> int32: the loop nest of the float32 one, on packed int8x4 words.

A is [..., M, K / 4] words of four elements of a row; B is in panels [..., panels, K / 4, width] of words.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.element_types import memory_type
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.integer_microkernel import Int8MicrokernelEmitter
from sardonyx._src.compile.kernels.gemm.loop_nest import MatmulEmitter
from sardonyx._src.compile.kernels.gemm.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.output import EpilogueOperand
from sardonyx._src.compile.kernels.gemm.panels import Panels
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView


def integer_matmul_steps(
    a: TensorView,
    b: Panels,
    y: TensorView,
    bias: TensorView | None,
    epilogue: IntegerEpilogue,
    operands: tuple[TensorView, ...] = (),
    *,
    a_is_signed: bool = False,
) -> list[Step]:
    """y [..., M, N] = epilogue(a [..., M, K] @ b [..., K, N] + bias), as in `matmul_steps`.

    a: words, as of `packed_int8.view_as_int8x4`.  a_is_signed: its elements are int8, not uint8; 128 is added to each,
    for which the caller corrects the bias.  bias: [panels, width] int32.
    """
    kernel = Kernel(
        f"matmul_bytes_{b.tile.vectors}_{bias is not None}_{a_is_signed}:{epilogue.key}",
        partial(
            integer_matmul_module,
            vectors=b.tile.vectors,
            epilogue=epilogue,
            has_bias=bias is not None,
            a_is_signed=a_is_signed,
        ),
    )
    steps = matmul_steps(a, b, y, bias=bias, epilogue=epilogue, operands=operands)
    return [replace(step, kernel=kernel) for step in steps]


def integer_matmul_module(
    name: str, target: Target, *, vectors: int, epilogue: IntegerEpilogue, has_bias: bool, a_is_signed: bool
) -> str:
    """The LLVM module of the kernel."""
    emitter = Int8MatmulEmitter(vectors, epilogue, target, a_is_signed=a_is_signed, has_bias=has_bias)
    emitter.emit_units()
    return emitter.build_module(name)


class Int8MatmulEmitter(Int8MicrokernelEmitter, MatmulEmitter):
    """The loop nest of `MatmulEmitter` around the integer microkernel; batch strides count elements of each tensor's type."""

    def __init__(
        self, vectors: int, epilogue: IntegerEpilogue, target: Target, *, a_is_signed: bool, has_bias: bool
    ) -> None:
        super().__init__(vectors, epilogue, target, has_bias=has_bias, has_strided_a=False)
        self.init_int8(epilogue, target, a_is_signed=a_is_signed)

    def batch_address(self, base: str, name: str, outer: LLVMValue, inner: LLVMValue) -> str:
        offset = outer * self.sizes[f"{name}_outer"] + inner * self.sizes[f"{name}_inner"]
        return self.gep(
            base,
            offset,
            memory_type(self.integer_epilogue.result_dtype).llvm_element if name == "y" else "float",
        )

    def batch_operand(
        self, operand: EpilogueOperand, strides_index: int, outer: LLVMValue, inner: LLVMValue
    ) -> EpilogueOperand:
        index = next(i for i, candidate in enumerate(self.output.operands) if candidate is operand)
        offset = outer * self.size_argument(strides_index) + inner * self.size_argument(strides_index + 1)
        element = memory_type(self.integer_epilogue.operand_types[index]).llvm_element
        return replace(operand, address=self.gep(operand.address, offset, element))
