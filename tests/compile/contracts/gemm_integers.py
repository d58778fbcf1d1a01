"""Contracts of products of integers and of bfloat16, in words of several terms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, around, vector_edges
from compile.contracts.gemm import ROWS
from compile.contracts.references import EPILOGUES, EpilogueKind, add_epilogue
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Cast, Local, Number
from sardonyx._src.compile.kernels.epilogue import OperandLayout
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import has_bf16_products
from sardonyx._src.compile.kernels.gemm.bf16.bf16_matmul import (
    bf16_matmul_steps,
    make_rounded_rows,
    round_rows_step,
    view_as_words,
)
from sardonyx._src.compile.kernels.gemm.bf16.bf16_panels import pack_bf16_constant
from sardonyx._src.compile.kernels.gemm.integer.int8_packing import pack_int8_tensor
from sardonyx._src.compile.kernels.gemm.integer.int8_row_sums import int8_row_sums_step
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import (
    make_padded_temporary,
    pack_int8_constant,
    pack_int32_bias,
    view_as_int8x4,
)
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import (
    Approximation,
    IntegerEpilogue,
    expand_row_vector,
)
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array


def padded_words(trial: Trial, a: Array) -> TensorView:
    """A [..., k] of bytes as words; rows are followed by arbitrary bytes up to a whole word."""
    words = view_as_int8x4(trial.fill(make_padded_temporary(DataType.of(a.dtype), a.shape, "a"), a))
    assert words is not None, "rows must be padded to words"
    return words


def integer_product(
    trial: Trial, rows: int, columns: int, k: int, dtype: str, layout: str, has_bias: bool
) -> Sequence[Step]:
    """Extreme bytes; B is constant, or packed by a step with the sums of its columns."""
    info = np.iinfo(dtype)
    a = trial.integers(rows, k, low=info.min, high=info.max, dtype=dtype)
    b = trial.integers(k, columns, low=-128, high=127, dtype=np.int8)
    exact = (a.astype(np.int64) + 128 * (dtype == "int8")) @ b.astype(np.int64)
    if layout == "computed":
        packed = pack_int8_tensor(trial.input(b), trial.target)
        trial.expect(packed.sums, b.sum(0, dtype=np.int64)[None])
        y = trial.result(exact, np.int32)
        product = integer_matmul_steps(
            padded_words(trial, a), packed.panels, y, None, IntegerEpilogue(), a_is_signed=dtype == "int8"
        )
        return [packed.step, *product]
    panels, bias = pack_int8_constant(b, trial.target), trial.integers(columns, dtype=np.int32)
    added = make_constant(pack_int32_bias(bias, panels.tile)) if has_bias else None
    y = trial.result(exact + bias * has_bias, np.int32, gap=2)
    return integer_matmul_steps(
        padded_words(trial, a), panels, y, added, IntegerEpilogue(), a_is_signed=dtype == "int8"
    )


def integer_product_axes(target: Target) -> Axes:
    return {
        "rows": ROWS,
        "columns": vector_edges(target),
        "k": (*around(16), 513),
        "dtype": ("uint8", "int8"),
        "layout": ("constant", "computed"),
        "has_bias": (False, True),
    }


def row_sums(trial: Trial, rows: int, k: int, dtype: str, batch: tuple[int, ...]) -> Sequence[Step]:
    """Rows of a batch whose outer dim is the inner one in memory, as in the heads of attention."""
    info = np.iinfo(dtype)
    a = trial.integers(*batch, rows, k, low=info.min, high=info.max, dtype=dtype)
    words = padded_words(trial, np.ascontiguousarray(np.moveaxis(a, 0, -2)))
    order = (len(batch), *range(len(batch)), len(batch) + 1)
    sums = a.sum(-1, dtype=np.int64)[..., None] + 128 * k * (dtype == "int8")
    y = trial.result(sums, np.int32)
    return [int8_row_sums_step(words.permute(order), y, k, a_is_signed=dtype == "int8")]


def row_sums_axes(target: Target) -> Axes:
    edges = tuple(4 * words + rest for words in vector_edges(target) for rest in (0, 1, 3))
    return {
        "rows": (1, 2, 7),
        "k": (*around(4), *edges),
        "dtype": ("uint8", "int8"),
        "batch": ((), (3,), (2, 3)),
    }


def quantized_product(
    trial: Trial, rows: int, columns: int, k: int, is_bounded: bool, rows_of_plan: int | None
) -> Sequence[Step]:
    """saturate(round(sums * scale - row) + zero point + matrix) as bytes; panels are those for `rows_of_plan` rows."""
    a = trial.integers(rows, k, low=0, high=255, dtype=np.uint8)
    b = trial.integers(k, columns, low=-128, high=127, dtype=np.int8)
    scale = (2.0 ** -trial.rng.integers(5, 9, columns)).astype(np.float32)
    zero, row = np.array([7], np.uint8), trial.integers(rows, dtype=np.int32)
    exact = (a.astype(np.int64) @ b.astype(np.int64) - row[:, None]) * scale.astype(np.float64)
    y = trial.result(np.clip(np.rint(exact) + 7, 0, 255), np.uint8)
    sums = Cast(DataType.FLOAT, Apply("sub", (Local("x"), Local("o1"))))
    rounded = Apply("round", (Apply("mul", (sums, Local("o0"))),))
    shifted = Apply("add", (rounded, Cast(DataType.FLOAT, Local("o2"))))
    result = Cast(DataType.UINT8, Apply("clamp", (shifted, Number(0), Number(255))))
    types = (DataType.FLOAT, DataType.INT32, DataType.UINT8)
    epilogue = IntegerEpilogue(
        result, ("column", "matrix", "scalar"), types, DataType.UINT8, (1,), is_bounded
    )
    operands = (trial.input(scale), expand_row_vector(trial.input(row), y), trial.input(zero))
    panels = pack_int8_constant(b, trial.target, rows=rows_of_plan)
    return integer_matmul_steps(padded_words(trial, a), panels, y, None, epilogue, operands)


def quantized_product_axes(target: Target) -> Axes:
    return {
        "rows": ROWS,
        "columns": vector_edges(target),
        "k": (0, 1, 4, 9, 33),
        "is_bounded": (False, True),
        "rows_of_plan": (None, 100),
    }


def rounded_once(
    trial: Trial, rows: int, columns: int, k: int, dtype: str, has_scale_of_columns: bool
) -> Sequence[Step]:
    """saturate(round(sums * scale) + zero point), in float64; float32 decides where it can, and ties are frequent."""
    a = trial.integers(rows, k, low=0, high=255, dtype=np.uint8)
    b = trial.integers(k, columns, low=-128, high=127, dtype=np.int8)
    count = columns if has_scale_of_columns else 1
    scale = trial.rng.choice([1 / 6, 0.125, 0.49999, 1e-3], count)
    zero, info = np.array([7], dtype), np.iinfo(dtype)
    exact = np.rint((a.astype(np.int64) @ b.astype(np.int64)) * scale) + 7
    y = trial.result(np.clip(exact, info.min, info.max), dtype)
    quotient = Apply("mul", (Cast(DataType.DOUBLE, Local("x")), Local("o0")))
    approximate = Apply("mul", (Cast(DataType.FLOAT, Local("x")), Local("o2")))
    shifted = Apply("add", (Apply("round", (quotient,)), Cast(DataType.DOUBLE, Local("o1"))))
    kind = DataType.of(np.dtype(dtype))
    result = Cast(kind, Apply("clamp", (shifted, Number(int(info.min)), Number(int(info.max)))))
    layout: OperandLayout = "column" if has_scale_of_columns else "scalar"
    epilogue = IntegerEpilogue(
        result,
        (layout, "scalar", layout),
        (DataType.DOUBLE, kind, DataType.FLOAT),
        kind,
        has_bounded_quotient=True,
        approximation=Approximation(quotient, approximate),
    )
    operands = tuple(trial.input(x) for x in (scale, zero, scale.astype(np.float32)))
    panels = pack_int8_constant(b, trial.target)
    return integer_matmul_steps(padded_words(trial, a), panels, y, None, epilogue, operands)


def rounded_once_axes(target: Target) -> Axes:
    return {
        "rows": ROWS,
        "columns": vector_edges(target),
        "k": (0, 1, 4, 9, 33),
        "dtype": ("uint8", "int8"),
        "has_scale_of_columns": (False, True),
    }


def bf16_product(
    trial: Trial, rows: int, columns: int, k: int, has_bias: bool, epilogue: EpilogueKind
) -> Sequence[Step]:
    a, b, bias = trial.integers(rows, k), trial.integers(k, columns), trial.integers(columns)
    panels = pack_bf16_constant(b, trial.target)
    words = make_rounded_rows(a.shape, "words")
    added = make_constant(pack_bias(bias, panels.tile)) if has_bias else None
    fused, operands, y = add_epilogue(trial, epilogue, a @ b + bias * has_bias)
    rounding = round_rows_step(trial.input(a), words)
    product = bf16_matmul_steps(
        view_as_words(words), panels, trial.result(y), bias=added, epilogue=fused, operands=operands
    )
    return [rounding, *product]


def bf16_product_axes(target: Target) -> Axes:
    return {
        "rows": around(16),
        "columns": vector_edges(target),
        "k": (*around(16), 63, 64, 65),
        "has_bias": (False, True),
        "epilogue": EPILOGUES,
    }


CONTRACTS = [
    Contract(integer_product, integer_product_axes),
    Contract(row_sums, row_sums_axes),
    Contract(quantized_product, quantized_product_axes),
    Contract(rounded_once, rounded_once_axes),
    Contract(bf16_product, bf16_product_axes, has_bf16_products),
]
