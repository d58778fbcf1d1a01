"""GroupNormalization and InstanceNormalization in channels-first layout, [N, C, spatial].

The channels of a group and their pixels are contiguous, which makes a group one row of the statistics.
Loop nest: units of work (blocks of groups) -> groups: two passes for mean and variance -> channels of the group, with one
scale and bias each -> vectors of pixels.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.data_movement.iteration_space import IterationSpace
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.reductions.layer_norm import is_dense_space
from sardonyx._src.compile.kernels.reductions.row_emitter import float32_bits, num_units, rows_per_unit
from sardonyx._src.compile.kernels.reductions.statistics import StatisticsEmitter
from sardonyx._src.compile.program.step import Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known, dim_product, exact_div


def group_norm_step(
    x: TensorView,
    y: TensorView,
    scale: TensorView,
    bias: TensorView,
    *,
    groups: Known,
    epsilon: float,
    epilogue: Epilogue | None = None,
    nodes: tuple[str, ...] = (),
) -> Step | None:
    """y = (x - mean) / sqrt(variance + epsilon) * scale + bias, with the statistics of each group of channels of an image.

    x, y: [N, C, *spatial] float32, dense from C on; they may be the same tensor.  scale, bias: [C], dense.  groups: a
    divisor of C; C for InstanceNormalization.  epilogue: without operands.  None if the layout has no kernel.
    """
    epilogue = epilogue or Epilogue()
    assert not epilogue.operand_layouts, "the epilogue of a group normalization must not have operands"
    if not is_dense_space(IterationSpace(x.shape[1:], (x.strides[1:], y.strides[1:]))):
        return None
    if not scale.is_dense or not bias.is_dense:
        return None
    channels = exact_div(x.shape[1], groups)
    pixels = dim_product(x.shape[2:])
    n = channels * pixels
    rows = IterationSpace((x.shape[0], groups), ((x.strides[0], n), (y.strides[0], n)))
    kernel = Kernel(
        f"group_norm_{epilogue.key}",
        lambda name, target: GroupNormEmitter(target, epilogue).build_module(name),
    )
    sizes = (rows.size, rows_per_unit(n), n, channels, pixels)
    args = (x, y, scale, bias, float32_bits(epsilon), *sizes, *rows.to_arguments())
    return Step(
        kernel,
        args,
        num_units(rows.size, n),
        (x, scale, bias),
        (y,),
        flops=x.num_elements * 8,
        bytes_accessed=x.nbytes * 2,
        nodes=nodes,
    )


class GroupNormEmitter(StatisticsEmitter):
    """Emits a group normalization.

    args: x, y, scale, bias, epsilon, rows, rows per unit, elements of a group, channels of a group, pixels, dims of the
    rows ([N, groups]; strides of x, of y).
    """

    def __init__(self, target: Target, epilogue: Epilogue) -> None:
        super().__init__(target)
        self.epilogue = epilogue
        self.x, self.y, self.scale, self.bias = (self.pointer_argument(i) for i in range(4))
        self.epsilon = self.load_float_argument(4)
        rows, unit_rows, self.n, self.channels, self.pixels = (self.size_argument(i) for i in range(5, 10))
        dims = self.load_dims(10, 2, 2)
        self.groups = dims.sizes[1]
        self.loop_unit_rows(rows, unit_rows, dims, self.normalize_group)

    def normalize_group(self, row: LLVMValue, offsets: list[LLVMValue]) -> None:
        source, target = self.element_pointer(self.x, offsets[0]), self.element_pointer(self.y, offsets[1])
        mean = self.mean_of(self.n, lambda index, mask: self.load_vector(source, index, mask))
        center = self.broadcast(mean)
        inverse = self.inverse_deviation(self.mean_square(self.n, source, center), self.epsilon)
        _, group = self.udivmod(row, self.groups)

        def normalize_channel(c: LLVMValue) -> None:
            channel = group * self.channels + c
            scale, bias = (
                self.load(StackSlot(self.element_pointer(base, channel), self.scalar_type))
                for base in (self.scale, self.bias)
            )
            factor, shift, start = self.broadcast(scale * inverse), self.broadcast(bias), c * self.pixels

            def write_vectors(i: LLVMValue, vectors: int, mask: LLVMValue | None) -> None:
                for v in range(vectors):
                    index = start + i + v * self.lanes
                    value = self.fma(self.load_vector(source, index, mask) - center, factor, shift)
                    value = self.apply_epilogue(self.epilogue, value, row, index, mask)
                    self.store_vector(value, target, index, mask)

            self.loop_vectors(self.pixels, write_vectors)

        self.loop_call(self.zero, self.channels, 1, normalize_channel, "channel")
