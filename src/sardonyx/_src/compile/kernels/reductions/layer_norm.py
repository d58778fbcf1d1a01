"""LayerNormalization and RMSNormalization of dense rows, with an optional residual addition before and an epilogue.

Loop nest: rows of the units -> vectors, in three passes: the mean (with the residual addition, whose sum is stored for
the passes that follow), the mean square of the deviations, and the normalized result.  RMSNormalization skips the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.parameters import Parameters, float32_bits
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
    row_space,
)
from sardonyx._src.compile.kernels.data_movement.strided_loops import load_dims, loop_rows, unit_row_range
from sardonyx._src.compile.kernels.epilogue import (
    Epilogue,
    EpilogueOperand,
    epilogue_arguments,
    epilogue_parameters,
    load_operands,
)
from sardonyx._src.compile.kernels.reductions.reducers import SUM, accumulate, new_accumulators
from sardonyx._src.compile.kernels.reductions.rows import (
    load_vector,
    loop_vectors,
    num_units,
    row_arguments,
    store_vector,
)
from sardonyx._src.compile.kernels.reductions.statistics import (
    apply_epilogue,
    inverse_deviation,
    mean_of_accumulators,
    mean_square,
)
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView

ROW_TENSORS = ("x", "y", "addend", "total")  # those that have the shape of x
OPTIONAL_TENSORS = ("addend", "total", "scale", "bias", "mean", "inverse")


@dataclass(frozen=True, slots=True)
class NormVariant:
    """Specialization key of a normalization: which optional tensors of `NormParams` are present, and the epilogue."""

    centered: bool
    names: tuple[str, ...]
    epilogue: Epilogue
    epsilon_outside: bool = False

    @property
    def key(self) -> str:
        op = "standard" if self.epsilon_outside else "layer" if self.centered else "rms"
        return f"{op}_norm_{'_'.join(self.names)}_{self.epilogue.key}"

    @property
    def row_tensors(self) -> tuple[str, ...]:
        return tuple(name for name in ROW_TENSORS if name in ("x", "y", *self.names))

    @property
    def parameters(self) -> Parameters:
        tensors = Parameters("x", "y", *self.names) + epilogue_parameters(self.epilogue)
        return tensors + Parameters("epsilon", "rows", "unit_rows", "n", "dims*")


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

    def present(self, *names: str) -> tuple[TensorView, ...]:
        """Those of the named tensors that are present."""
        return tuple(t for name, t in self.tensors.items() if name in names)

    @property
    def variant(self) -> NormVariant:
        return NormVariant(self.centered, tuple(self.tensors), self.epilogue, self.epsilon_outside)


def layer_norm_step(x: TensorView, y: TensorView, axis: int, params: NormParams) -> Step:
    """y = epilogue((x + addend - mean) / sqrt(variance + epsilon) * scale + bias), over all dims from `axis` on.

    x, y, addend, total: float32 of one shape, dense from `axis` on; y, total and x may be the same tensor.  scale, bias:
    the dims from `axis` on, dense; mean, inverse: dense, one element for each row.  If not centered, mean is 0 and the
    variance is the mean square.
    """
    first = axis % x.rank
    row_tensors, columns = (x, y, *params.present("addend", "total")), params.present("scale", "bias")
    statistics = params.present("mean", "inverse")
    row = IterationSpace(x.shape[first:], tuple(t.strides[first:] for t in row_tensors))
    n = row.size
    is_dense = is_dense_space(row) and all(t.is_dense and t.num_elements == n for t in columns)
    assert is_dense, f"rows must be dense; got {', '.join(map(str, (*row_tensors, *columns)))}"
    outer = IterationSpace(x.shape[:first], tuple(t.strides[:first] for t in row_tensors))
    rows = coalesce(drop_unit_dims(outer))
    has_numbered_rows = bool(statistics or params.operands)  # sorting the dims would change the numbers
    assert rows.rank <= 1 or not has_numbered_rows, f"rows must be in the order of their numbers; got {x}"
    rows, variant = row_space(rows, by=1), params.variant
    args: tuple[KernelArgument, ...] = variant.parameters.pack(
        x=x,
        y=y,
        **params.tensors,
        **epilogue_arguments(params.epilogue, params.operands),
        epsilon=float32_bits(params.epsilon),
        **row_arguments(rows, n),
    )
    return Step(
        Kernel(
            f"{variant.key}_{rows.rank}",
            partial(layer_norm_module, variant=variant, rank=rows.rank),
            variant.parameters,
        ),
        args,
        num_units(rows.size, n),
        (x, *params.present("addend"), *columns, *params.operands),
        (y, *params.present("total"), *statistics),
        flops=x.num_elements * 8,
        bytes_accessed=x.nbytes * len(row_tensors),
        # The passes before the last write nothing: with an addend they write y, before scale, bias and operands are read.
        in_place=params.addend is None,
    )


def is_dense_space(space: IterationSpace) -> bool:
    """Whether all operands of a space are provably dense."""
    merged = coalesce(drop_unit_dims(space))
    return merged.rank == 0 or (merged.rank == 1 and all(s == (1,) for s in merged.strides))


def layer_norm_module(name: str, target: Target, variant: NormVariant, rank: int) -> str:
    """The kernel of a normalization of rows."""
    b, vector_type = KernelBuilder(target, variant.parameters), LLVMType("float", target.lanes)
    bases = {tensor: b.pointer(tensor) for tensor in ("x", "y", *variant.names)}
    operands = load_operands(b, variant.epilogue)
    epsilon = b.float32("epsilon")
    rows, unit_rows, n = b.integers("rows", "unit_rows", "n")
    dims = load_dims(b, "dims", rank, len(variant.row_tensors))
    with loop_rows(b, dims, *unit_row_range(b, rows, unit_rows)) as (number, offsets):
        pairs = zip(variant.row_tensors, offsets, strict=True)
        addresses = bases | {tensor: b.gep(bases[tensor], offset) for tensor, offset in pairs}
        row = NormRow(b, variant, vector_type, n, number, addresses, operands)
        mean = first_pass(row)
        variance = mean_square(b, vector_type, row.source, n, b.splat(mean, target.lanes))
        inverse = inverse_scale(row, variance, epsilon)
        store_statistic(row, "mean", mean)
        store_statistic(row, "inverse", inverse)
        write_row(row, b.splat(mean, target.lanes), b.splat(inverse, target.lanes))
    return b.build_module(name)


@dataclass(frozen=True, slots=True)
class NormRow:
    """A row of n elements in a normalization kernel.

    addresses: of the row in the tensors that have the shape of x; of the other tensors.
    """

    b: KernelBuilder
    variant: NormVariant
    vector_type: LLVMType
    n: LLVMValue
    number: LLVMValue
    addresses: dict[str, str]
    operands: tuple[EpilogueOperand, ...]

    @property
    def source(self) -> str:
        """The row that the passes after the first one read: x, or the sum that the first one stores."""
        default = "y" if "addend" in self.addresses else "x"
        return self.addresses.get("total", self.addresses[default])

    def load(self, tensor: str, index: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
        return load_vector(self.b, self.vector_type, self.addresses[tensor], index, mask)


def first_pass(row: NormRow) -> LLVMValue:
    """Stores the sums that the other passes read, and returns the mean of the row, 0 if it is not subtracted."""
    b, lanes = row.b, row.vector_type.lanes
    if row.variant.centered:
        accumulators = new_accumulators(b, row.vector_type, SUM)
        for v, index, mask in loop_vectors(b, row.n, lanes):
            accumulate(b, accumulators[v], SUM, (load_sum(row, index, mask),), mask)
        return mean_of_accumulators(b, accumulators, row.n)
    if row.source != row.addresses["x"]:
        for _, index, mask in loop_vectors(b, row.n, lanes):
            load_sum(row, index, mask)
    return b.constant(0, LLVMType("float"))


def load_sum(row: NormRow, index: LLVMValue, mask: LLVMValue | None) -> LLVMValue:
    """Loads a vector of x + addend, and stores it for the passes that follow."""
    value = row.load("x", index, mask)
    if "addend" in row.addresses:
        value = value + row.load("addend", index, mask)
    if row.source != row.addresses["x"]:
        store_vector(row.b, value, row.source, index, mask)
    return value


def inverse_scale(row: NormRow, variance: LLVMValue, epsilon: LLVMValue) -> LLVMValue:
    """The factor of a row: 1 / sqrt(variance + epsilon), or 1 / (sqrt(variance) + epsilon)."""
    if row.variant.epsilon_outside:
        return 1 / (row.b.call_intrinsic("sqrt", variance) + epsilon)
    return inverse_deviation(row.b, variance, epsilon)


def store_statistic(row: NormRow, tensor: str, value: LLVMValue) -> None:
    """Stores a scalar of the row, if the tensor for it is present."""
    if tensor in row.addresses:
        row.b.store(StackSlot(row.b.gep(row.addresses[tensor], row.number), value.type), value)


def write_row(row: NormRow, mean: LLVMValue, inverse: LLVMValue) -> None:
    """Writes (x - mean) * inverse * scale + bias with the epilogue applied; mean, inverse: in every lane."""
    b, names, epilogue = row.b, row.variant.names, row.variant.epilogue
    for _, index, mask in loop_vectors(b, row.n, row.vector_type.lanes):
        value = (load_vector(b, row.vector_type, row.source, index, mask) - mean) * inverse
        scale = row.load("scale", index, mask) if "scale" in names else None
        bias = row.load("bias", index, mask) if "bias" in names else None
        if scale is not None:
            value = value * scale if bias is None else b.fma(value, scale, bias)
        elif bias is not None:
            value = value + bias
        value = apply_epilogue(b, epilogue, row.operands, value, (row.number, index), mask)
        store_vector(b, value, row.addresses["y"], index, mask)
