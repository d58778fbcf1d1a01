"""LayerNormalization and RMSNormalization of dense rows, with an optional residual addition before and an epilogue.

Loop nest: units of work (blocks of rows) -> rows, in three passes of vectors: the mean (with the residual addition, whose
sum is stored for the passes that follow), the mean square of the deviations, and the normalized result.
RMSNormalization skips the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import (
    IterationSpace,
    coalesce,
    drop_unit_dims,
    row_space,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue, operand_arguments
from sardonyx._src.compile.kernels.reductions.row_emitter import float32_bits, num_units, rows_per_unit
from sardonyx._src.compile.kernels.reductions.statistics import StatisticsEmitter
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView


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

    def present(self, *names: str) -> tuple[TensorView, ...]:
        """Those of the named tensors that are not None."""
        return tuple(t for name in names if (t := getattr(self, name)) is not None)

    @property
    def variant(self) -> NormVariant:
        names = "addend", "total", "scale", "bias", "mean", "inverse"
        present = tuple(n for n in names if getattr(self, n) is not None)
        return NormVariant(self.centered, present, self.epilogue, self.epsilon_outside)


def layer_norm_step(
    x: TensorView, y: TensorView, axis: int, params: NormParams, nodes: tuple[str, ...] = ()
) -> Step | None:
    """y = epilogue((x + addend - mean) / sqrt(variance + epsilon) * scale + bias), over all dims from `axis` on.

    x, y, addend, total: float32 of one shape, dense from `axis` on; y, total and x may be the same tensor.  scale, bias:
    the dims from `axis` on, dense; mean, inverse: dense, one element for each row.  If not centered, mean is 0 and the
    variance is the mean square.  None if the layout has no kernel.
    """
    first = axis % x.rank
    row_tensors, columns = (x, y, *params.present("addend", "total")), params.present("scale", "bias")
    statistics = params.present("mean", "inverse")
    row = IterationSpace(x.shape[first:], tuple(t.strides[first:] for t in row_tensors))
    n = row.size
    if not is_dense_space(row) or not all(t.is_dense and t.num_elements == n for t in columns):
        return None
    outer = IterationSpace(x.shape[:first], tuple(t.strides[:first] for t in row_tensors))
    rows = coalesce(drop_unit_dims(outer))
    if rows.rank > 1 and (statistics or params.operands):
        return None  # these are indexed by the row's number, which sorting the dims would change
    rows, variant = row_space(rows, by=1), params.variant
    rank = rows.rank
    operands = operand_arguments(params.epilogue, params.operands)
    args: tuple[KernelArgument, ...] = (*row_tensors, *columns, *statistics, *operands)
    args = (*args, float32_bits(params.epsilon), rows.size, rows_per_unit(n), n, *rows.to_arguments())
    kernel = Kernel(
        f"{variant.key}_{rank}",
        lambda name, target: LayerNormEmitter(target, variant, rank).build_module(name),
    )
    return Step(
        kernel,
        args,
        num_units(rows.size, n),
        (x, *params.present("addend"), *columns, *params.operands),
        (y, *params.present("total"), *statistics),
        flops=x.num_elements * 8,
        bytes_accessed=x.nbytes * len(row_tensors),
        nodes=nodes,
    )


def is_dense_space(space: IterationSpace) -> bool:
    """Whether all operands of a space are provably dense."""
    merged = coalesce(drop_unit_dims(space))
    return merged.rank == 0 or (merged.rank == 1 and all(s == (1,) for s in merged.strides))


class LayerNormEmitter(StatisticsEmitter):
    """Emits a normalization of rows.

    args: x, y, those of addend, total, scale, bias, mean and inverse that are present, operands of the epilogue, epsilon,
    rows, rows per unit, n, dims of the rows (strides of x, of y, of addend and of total).
    """

    def __init__(self, target: Target, variant: NormVariant, rank: int) -> None:
        super().__init__(target)
        self.variant = variant
        self.bases = {name: self.pointer_argument(i) for i, name in enumerate(("x", "y", *variant.names))}
        index = self.load_epilogue_operands(variant.epilogue, len(self.bases))
        self.epsilon = self.load_float_argument(index)
        rows, unit_rows, self.n = (self.size_argument(index + i) for i in range(1, 4))
        self.row_names: list[str] = [name for name in ("x", "y", "addend", "total") if name in self.bases]
        dims = self.load_dims(index + 4, rank, len(self.row_names))
        self.loop_unit_rows(rows, unit_rows, dims, self.normalize_row)

    def normalize_row(self, row: LLVMValue, offsets: list[LLVMValue]) -> None:
        rows = {
            name: self.element_pointer(self.bases[name], offset)
            for name, offset in zip(self.row_names, offsets, strict=True)
        }
        source = rows["x"]  # what the passes after the first one read
        if "addend" in rows:
            source = rows.get("total", rows["y"])
        elif "total" in rows:
            source = rows["total"]
        mean = self.constant(0, self.scalar_type)
        if self.variant.centered:
            mean = self.mean_of(self.n, lambda index, mask: self.load_sum(rows, source, index, mask))
        elif source != rows["x"]:
            self.loop_vectors(
                self.n, lambda i, vectors, mask: self.store_sums(rows, source, i, vectors, mask)
            )
        inverse = self.inverse_scale(self.mean_square(self.n, source, self.broadcast(mean)))
        self.store_statistic("mean", row, mean)
        self.store_statistic("inverse", row, inverse)
        statistics = self.broadcast(mean), self.broadcast(inverse)
        self.loop_vectors(
            self.n,
            lambda i, vectors, mask: self.write_vectors(rows["y"], source, row, statistics, i, vectors, mask),
        )

    def inverse_scale(self, variance: LLVMValue) -> LLVMValue:
        """The factor of a row: 1 / sqrt(variance + epsilon), or 1 / (sqrt(variance) + epsilon)."""
        if self.variant.epsilon_outside:
            return 1 / (self.call_intrinsic("sqrt", variance) + self.epsilon)
        return self.inverse_deviation(variance, self.epsilon)

    def load_sum(
        self, rows: dict[str, str], source: str, index: LLVMValue, mask: LLVMValue | None
    ) -> LLVMValue:
        """Loads a vector of x + addend, and stores it to `source` for the following passes."""
        value = self.load_vector(rows["x"], index, mask)
        if "addend" in rows:
            value = value + self.load_vector(rows["addend"], index, mask)
        if source != rows["x"]:
            self.store_vector(value, source, index, mask)
        return value

    def store_sums(
        self, rows: dict[str, str], source: str, i: LLVMValue, vectors: int, mask: LLVMValue | None
    ) -> None:
        for v in range(vectors):
            self.load_sum(rows, source, i + v * self.lanes, mask)

    def store_statistic(self, name: str, row: LLVMValue, value: LLVMValue) -> None:
        """Stores a scalar of a row, if the tensor for it is present."""
        if name in self.bases:
            address = self.element_pointer(self.bases[name], row)
            self.lines.append(f" store {value}, ptr {address}, align 4")

    def write_vectors(
        self,
        target: str,
        source: str,
        row: LLVMValue,
        statistics: tuple[LLVMValue, LLVMValue],
        i: LLVMValue,
        vectors: int,
        mask: LLVMValue | None,
    ) -> None:
        """Writes some vectors of the result; statistics: the mean and its factor, in every lane."""
        mean, inverse = statistics
        for v in range(vectors):
            index = i + v * self.lanes
            value = (self.load_vector(source, index, mask) - mean) * inverse
            if "scale" in self.bases:
                scale = self.load_vector(self.bases["scale"], index, mask)
                if "bias" in self.bases:
                    value = self.fma(value, scale, self.load_vector(self.bases["bias"], index, mask))
                else:
                    value = value * scale
            elif "bias" in self.bases:
                value = value + self.load_vector(self.bases["bias"], index, mask)
            value = self.apply_epilogue(self.variant.epilogue, value, row, index, mask)
            self.store_vector(value, target, index, mask)
