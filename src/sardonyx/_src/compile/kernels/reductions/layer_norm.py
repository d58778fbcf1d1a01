"""LayerNormalization and RMSNormalization of dense rows, with an optional residual addition before and an epilogue.

The passes over a row: the mean (with the residual addition, whose sum is stored for the passes that follow), the mean
square of the deviations, and the normalized result.  RMSNormalization skips the mean.
"""

from __future__ import annotations

from dataclasses import field

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, float32_bits
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.loops.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
)
from sardonyx._src.compile.kernels.reductions.row_kernel import RowKernel, row_kernel_step
from sardonyx._src.compile.kernels.reductions.row_passes import Emit, Get, RowReduction, Stages
from sardonyx._src.compile.program import Step, TensorView
from sardonyx._src.dataclass import dataclass

OPTIONAL_TENSORS = ("addend", "total", "scale", "bias", "mean", "inverse")


@dataclass(frozen=True, slots=True)
class NormParams:
    """Parameters and optional tensors of a normalization.

    centered: whether the mean is subtracted.  addend: a residual, added to x first.  total: receives that sum.
    mean, inverse: receive the mean and the inverse standard deviation of each row.
    epilogue, operands: elementwise operations on the result, and their operands.
    epsilon_outside: whether epsilon is added to the standard deviation instead of the variance, as in
    MeanVarianceNormalization, which is centered.
    """

    epsilon: float
    centered: bool = True
    scale: TensorView | None = None
    bias: TensorView | None = None
    addend: TensorView | None = None
    total: TensorView | None = None
    mean: TensorView | None = None
    inverse: TensorView | None = None
    epilogue: Epilogue = field(default_factory=Epilogue)
    operands: tuple[TensorView, ...] = ()
    epsilon_outside: bool = False

    @property
    def tensors(self) -> dict[str, TensorView]:
        """The optional tensors that are present, by name."""
        return {name: t for name in OPTIONAL_TENSORS if (t := getattr(self, name)) is not None}


def layer_norm_step(x: TensorView, y: TensorView, axis: int, params: NormParams) -> Step:
    """y = epilogue((x + addend - mean) / sqrt(variance + epsilon) * scale + bias), over all dims from `axis` on.

    x, y, addend, total: float32 of one shape, dense from `axis` on; y, total and x may be the same tensor.  scale, bias:
    the dims from `axis` on, dense; mean, inverse: dense, one element for each row.  If not centered, mean is 0 and the
    variance is the mean square.
    """
    first, kernel, tensors = axis % x.rank, layer_norm_kernel(params), {"x": x, "y": y, **params.tensors}
    row_tensors, columns = ([tensors[name] for name in names] for names in (kernel.rows, kernel.columns))
    row = IterationSpace(x.shape[first:], tuple(t.strides[first:] for t in row_tensors))
    is_dense = is_dense_space(row) and all(t.is_dense and t.num_elements == row.size for t in columns)
    assert is_dense, f"rows must be dense; got {', '.join(map(str, (*row_tensors, *columns)))}"
    outer = IterationSpace(x.shape[:first], tuple(t.strides[:first] for t in row_tensors))
    rows = coalesce(drop_unit_dims(outer))
    # Sorting the dims would change the numbers of rows.
    has_numbered_rows = bool(kernel.statistics or params.operands)
    assert rows.rank <= 1 or not has_numbered_rows, f"rows must be in the order of their numbers; got {x}"
    return row_kernel_step(
        kernel,
        tensors,
        rows,
        row.size,
        numbers={"epsilon": float32_bits(params.epsilon)},
        epilogue_operands=params.operands,
        # The passes before the last write nothing: with an addend they write y, before scale, bias and operands are read.
        in_place=params.addend is None,
    )


def is_dense_space(space: IterationSpace) -> bool:
    """Whether all operands of a space are provably dense."""
    merged = coalesce(drop_unit_dims(space))
    return merged.rank == 0 or (merged.rank == 1 and all(s == (1,) for s in merged.strides))


def layer_norm_kernel(params: NormParams) -> RowKernel:
    names = tuple(params.tensors)
    op = "standard" if params.epsilon_outside else "layer" if params.centered else "rms"
    source = "total" if "total" in names else "y" if "addend" in names else "x"
    return RowKernel(
        f"{op}_norm_{'_'.join(names)}_{params.epilogue.key}",
        norm_stages(
            source, centered=params.centered, adds="addend" in names, epsilon_outside=params.epsilon_outside
        ),
        norm_result(params, source),
        operations=8,
        rows=("x", "y", *(name for name in names if name in ("addend", "total"))),
        columns=tuple(name for name in names if name in ("scale", "bias")),
        statistics=tuple(name for name in names if name in ("mean", "inverse")),
        numbers=("epsilon",),
        epilogue=params.epilogue,
    )


def norm_stages(
    source: str = "x", *, centered: bool = True, adds: bool = False, epsilon_outside: bool = False
) -> Stages:
    """The mean and the inverse deviation; source: x, or the tensor that receives x, or x + addend."""

    def element(b: KernelBuilder, get: Get) -> LLVMValue:
        return get("x") + get("addend") if adds else get("x")

    def deviation(b: KernelBuilder, get: Get) -> LLVMValue:
        value = get(source) - get("mean")
        return value * value

    def inverse(b: KernelBuilder, get: Get) -> LLVMValue:
        variance = get("inverse") / get("n")
        if epsilon_outside:
            return 1 / (b.call_intrinsic("sqrt", variance) + get("epsilon"))
        return 1 / b.call_intrinsic("sqrt", variance + get("epsilon"))

    stored = "" if source == "x" else source
    if centered:
        mean = RowReduction("mean", element, lambda b, get: get("mean") / get("n"), stored=stored)
    else:
        mean = RowReduction("mean", element, lambda b, get: b.constant(0, LLVMType("float")), None, stored)
    return (mean,), (RowReduction("inverse", deviation, inverse),)


def norm_result(params: NormParams, source: str) -> Emit:
    """(x - mean) * inverse * scale + bias."""

    def result(b: KernelBuilder, get: Get) -> LLVMValue:
        value = (get(source) - get("mean")) * get("inverse")
        scale = None if params.scale is None else get("scale")
        bias = None if params.bias is None else get("bias")
        if scale is not None:
            return value * scale if bias is None else b.fma(value, scale, bias)
        return value if bias is None else value + bias

    return result
