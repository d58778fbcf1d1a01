"""What equal bits have decided in kernels, and the variants that a class of processors could use without them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from products import tensor
from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue, Target
from sardonyx._src.compile.codegen.joined_calls import join_vectors, split_vector
from sardonyx._src.compile.codegen.math.exponential import expm1_reduced, power_of_two
from sardonyx._src.compile.codegen.math.function import VectorFunction
from sardonyx._src.compile.codegen.math.sigmoid import negated_exp
from sardonyx._src.compile.codegen.math.table import VECTOR_FUNCTIONS
from sardonyx._src.compile.codegen.math.tanh import POLYNOMIAL_LIMIT, TANH_COEFFICIENTS
from sardonyx._src.compile.kernels.gemm.integer import packed_int8
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import Int8DotEmitter, UnpackedInt8, has_vnni
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.loops import rows
from sardonyx._src.compile.kernels.pooling.pixel_blocks import global_pooling_steps
from sardonyx._src.compile.kernels.tuning import AttentionTuning, ChannelsLastTuning, GemmTuning
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Step
from sardonyx._src.dtypes import DataType
from tuning_fields import Workload
from tuning_workloads import attention, draw, elementwise, matmul, row_sum, softmax

Free = Callable[
    [], AbstractContextManager[object]
]  # a context in which kernels are emitted without the constraint


@dataclass(frozen=True)
class Choice:
    """What equal bits have decided.

    other: what a class could do instead.
    applies: whether a target would do something else.
    computes_the_same: whether results differ by rounding only.
    """

    name: str
    other: str
    workloads: Mapping[str, Workload]
    free: Free
    applies: Callable[[Target], bool] = lambda target: True
    computes_the_same: bool = True


def choices() -> Sequence[Choice]:
    return (*sums(), *functions(), *integers())


# --- sums ------------------------------------------------------------------------------------


def sums() -> Sequence[Choice]:
    summed: Mapping[str, Workload] = {
        "row sums 512x768": row_sum(512, 768),
        "softmax 512x768": softmax(512, 768),
    }
    return (
        Choice(
            "16 partial sums of a row",
            "as many as a register has lanes",
            summed,
            lambda: patch.object(rows, "SUMMED_BITS", 32 * host_target().lanes),
            lambda target: 1 < target.lanes < 16,
        ),
        Choice(
            "blocks of 512 terms of a product",
            "one sum over all terms",
            {"128x3072 @ 3072x768": matmul(128, 3072, 768), "16x3072 @ 3072x768": matmul(16, 3072, 768)},
            lambda: patch.object(GemmTuning, "k_block", 1 << 20),
        ),
        Choice(
            "sums divided by their lengths",
            "by the number of threads, which is 1 here",
            {"mean 56x56x256": divided_mean(56, 256), "attention 12 x 1 x 4096 x 64": attention(12, 1, 4096, 64)},
            undivided,
        ),
    )  # fmt: skip


@contextmanager
def undivided() -> Any:
    """Sums of one unit of work, as one thread would compute them."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(ChannelsLastTuning, "min_divided_floats", 1 << 40))
        stack.enter_context(patch.object(AttentionTuning, "split_keys", 1 << 40))
        yield


def divided_mean(size: int, channels: int) -> Workload:
    """A mean over an image, whose pixels are divided into blocks."""
    return lambda: global_pooling_steps(tensor(1, size, size, channels), tensor(1, channels), "mean")


# --- functions -------------------------------------------------------------------------------

ESTIMATES: Mapping[int, Callable[[LLVMValue], Any]] = {  # of 1 / x, by lanes: the intrinsic and its operands
    16: lambda x: ("x86.avx512.rcp14.ps.512", [x], "<16 x float> zeroinitializer", "i16 -1"),
    8: lambda x: ("x86.avx.rcp.ps.256", [x]),
}
SCALES = "x86.avx512.mask.scalef.ps.512"


def functions() -> Sequence[Choice]:
    size = (512, 768)
    divided = {name: elementwise(name, *size) for name in ("tanh", "sigmoid", "silu")}
    return (
        Choice(
            "quotients by division",
            "the reciprocal's estimate and a step of Newton's method; processors differ in the estimate",
            {f"{name} 512x768": workload for name, workload in divided.items()},
            lambda: patch.dict(VECTOR_FUNCTIONS, ESTIMATED),
            lambda target: target.lanes in ESTIMATES,
        ),
        Choice(
            "powers of two by shifts",
            "AVX-512's instruction that scales by a power of two, whose bits are the same",
            {"exp 512x768": elementwise("exp", *size)},
            lambda: patch.dict(VECTOR_FUNCTIONS, {"exp": function_of("exp", scaled_exp)}),
            lambda target: target.lanes == 16,
        ),
    )


def call_by_register(
    builder: FunctionBuilder, name: str, vectors: Sequence[LLVMValue], *others: str
) -> LLVMValue:
    """Calls an intrinsic of a target for each register of vectors; others: further operands, types and constants."""
    count = vectors[0].type.lanes // host_target().lanes
    parts = zip(*(split_vector(builder, vector, count) for vector in vectors), strict=True)
    results = []
    for registers in parts:
        operands = [*map(str, registers), *others]
        llvm_type = registers[0].type
        types = ", ".join(operand.rpartition(" ")[0] for operand in operands)
        builder.declarations[f"declare {llvm_type} @llvm.{name}({types})"] = None
        results.append(builder.emit(llvm_type, f"call {llvm_type} @llvm.{name}({', '.join(operands)})"))
    return join_vectors(builder, results)


def estimated_quotient(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a / b within 1 ulp, by the estimate of 1 / b, a step of Newton's method, and the remainder of the quotient."""
    estimate = call_by_register(builder, *ESTIMATES[host_target().lanes](b))
    missing = builder.fma(-b, estimate, builder.constant(1, b.type))
    estimate = builder.fma(missing, estimate, estimate)
    quotient = a * estimate
    return builder.fma(builder.fma(-b, quotient, a), estimate, quotient)


def estimated_tanh(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    magnitude, square = builder.fabs(x), x * x
    near = builder.fma(magnitude * square, builder.horner(square, TANH_COEFFICIENTS), magnitude)
    fraction, n = expm1_reduced(builder, magnitude.clamp_max(10) * 2)
    power = power_of_two(n)
    two = builder.constant(2, x.type)
    far = 1 - estimated_quotient(builder, two, builder.fma(fraction, power, power + 1))
    return builder.copysign(builder.select(magnitude < POLYNOMIAL_LIMIT, near, far), x)


def estimated_sigmoid(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    s, power, rest = negated_exp(builder, x)
    denominator = builder.fma(s, power, power.clamp_max(1)) + power.clamp_min(1)
    return estimated_quotient(builder, builder.constant(1, x.type), denominator) * rest


def estimated_silu(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    s, power, rest = negated_exp(builder, x)
    denominator = builder.fma(s, power, builder.constant(1, x.type)) + power
    return estimated_quotient(builder, x, denominator) * rest


def scaled_exp(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """exp with one instruction for the power of two, which rounds subnormal results once, too."""
    fraction, n = expm1_reduced(builder, x.clamp_max(89).clamp_min(-104))
    operands = [fraction + 1, n.convert("sitofp", "float")]
    return call_by_register(builder, SCALES, operands, "<16 x float> zeroinitializer", "i16 -1", "i32 4")


def function_of(name: str, body: Callable[[FunctionBuilder, LLVMValue], LLVMValue]) -> VectorFunction:
    return VectorFunction(name, 1, body)


ESTIMATED = {
    "tanh": function_of("tanh", estimated_tanh),
    "sigmoid": function_of("sigmoid", estimated_sigmoid),
    "silu": function_of("silu", estimated_silu),
}


# --- integers --------------------------------------------------------------------------------


def integers() -> Sequence[Choice]:
    products: Mapping[str, Workload] = {
        f"int8 {m}x{k} @ {k}x{n}": int8_product(m, k, n)
        for m, k, n in ((128, 768, 768), (784, 256, 128), (4, 768, 768))
    }
    return (
        Choice(
            "exact sums of bytes",
            "products of bytes that saturate in int16",
            products,
            saturating,
            lambda target: target.lanes in (8, 16) and not has_vnni(target),
            computes_the_same=False,
        ),
    )


def int8_product(m: int, k: int, n: int) -> Workload:
    """A product by constant weights of a normal distribution, as trained ones have."""

    def steps() -> Sequence[Step]:
        weights = np.clip(np.rint(draw(k, n) * 36), -127, 127).astype(np.int8)
        panels = packed_int8.pack_int8_constant(weights, host_target(), rows=m)
        a = packed_int8.view_as_int8x4(packed_int8.make_padded_temporary(DataType.UINT8, (m, k), "a"))
        assert a is not None, "rows are whole words"
        return integer_matmul_steps(a, panels, tensor(m, n, dtype=DataType.INT32), None, IntegerEpilogue())

    return steps


@contextmanager
def saturating() -> Any:
    """Panels of plain words, multiplied by `pmaddubsw` without regard to saturation."""

    def unpack(self: Int8DotEmitter, packed: LLVMValue) -> UnpackedInt8:
        return (packed,)

    def accumulate(
        self: Int8DotEmitter, total: LLVMValue, left: UnpackedInt8, right: UnpackedInt8
    ) -> LLVMValue:
        return total + self.widen_sums(self.emit_pmaddubsw(left[0], right[0]))

    methods: dict[str, Any] = {"unpack_a": unpack, "unpack_b": unpack, "dot_accumulate": accumulate}
    with ExitStack() as stack:
        stack.enter_context(patch.object(packed_int8, "pack_paired_panels", lambda *_: None))
        stack.enter_context(patch.multiple(Int8DotEmitter, **methods))
        yield
