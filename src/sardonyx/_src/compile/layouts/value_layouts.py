"""Layouts of values: the tensors, dense, strided or channels-last, in which a program holds each value.

A value may be held in several layouts at once: dense, as a view of another value's elements, or with its channels
innermost.  A lowering requests the layout that its kernel reads, and a copy is emitted if no tensor has it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar, cast

import numpy as np

from sardonyx._src.compile.kernels.data_movement.copy import copy_step
from sardonyx._src.compile.kernels.data_movement.write_sizes import write_sizes_step
from sardonyx._src.compile.layouts.concat_elision import ConcatElision
from sardonyx._src.compile.layouts.dequantized_constants import DequantizedConstants, upcast_source
from sardonyx._src.compile.llvm.loaded_kernels import compile_kernel_async
from sardonyx._src.compile.prepare.graph_info import GraphInfo
from sardonyx._src.compile.prepare.prepare import PreparedModel
from sardonyx._src.compile.program.program import Action, CopyIn
from sardonyx._src.compile.program.step import Step
from sardonyx._src.compile.program.tensor import (
    Buffer,
    TensorView,
    channels_first_permutation,
    channels_last_permutation,
    dense_bytes,
    dense_temporary,
    row_major_strides,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.graph import Graph, Node, Value
from sardonyx._src.ir.tensors import Array, Tensor

T = TypeVar("T")


class ValueLayouts(GraphInfo):
    """The tensors of each value of a graph, and the actions that compute them.

    actions: steps and fallback operations in order.  tensors: for each value, its tensors, one for each layout.
    lowered: nodes whose results are computed by `actions`.  lazy: values that are computed when first requested, by a
    function that binds them.  node_names: the nodes that emitted steps are attributed to.
    """

    def __init__(self, prepared: PreparedModel, graph: Graph | None = None) -> None:
        super().__init__(prepared, graph)
        self.actions: list[Action] = []
        self.tensors: dict[Value, list[TensorView]] = {}
        self.lowered: set[Node] = set()
        self.lazy: dict[Value, Callable[[], None]] = {}
        self.node_names: tuple[str, ...] = ()
        self.concat_elision = ConcatElision(self)
        self._dequantized = DequantizedConstants(self.model.opset_imports)
        self._constants: dict[object, TensorView] = {}
        self._memo: dict[object, object] = {}

    # --- constants ---------------------------------------------------------------------------

    def constant(self, value: Value | None) -> Array | None:
        """The elements of an initializer, or of a lazy value that reads constants only; None for other values."""
        literal = None if value is None else value.initializer
        if value is None or isinstance(literal, Tensor):
            return literal.numpy() if isinstance(literal, Tensor) else None
        return self._dequantized.elements(value) if value in self.lazy else None

    def half_precision_source(self, value: Value) -> Array | None:
        """The half-precision elements of a lazy constant that is promoted to float32; None for any other value."""
        return upcast_source(value) if value in self.lazy else None

    def constant_source(self, value: Value) -> Array | None:
        """The elements of a constant, before their promotion to float32 if they are of half precision."""
        half = self.half_precision_source(value)
        return self.constant(value) if half is None else half

    def is_constant(self, value: Value) -> bool:
        """Whether the elements are known at compile time."""
        return self.half_precision_source(value) is not None or self.constant(value) is not None

    # --- requesting a layout -----------------------------------------------------------------

    def is_native(self, value: Value | None) -> bool:
        """Whether a kernel can read the value: it has known dims, and is computed already or constant."""
        if value is None or self.shape(value) is None:
            return False
        return bool(self.tensors.get(value)) or self.is_computed(value) or self.constant(value) is not None

    def is_computed(self, value: Value) -> bool:
        """Whether the value is an input, or the result of a lowered node."""
        return value.producer is None or value.producer in self.lowered

    def any_layout(self, value: Value) -> TensorView:
        """The value in whichever layout comes first."""
        if not self.tensors.get(value) and value in self.lazy and self.constant(value) is None:
            self.lazy[value]()
        if not self.tensors.get(value):
            self.tensors[value] = [self.first_layout(value)]
        return self.tensors[value][0]

    def first_layout(self, value: Value) -> TensorView:
        """A dense tensor of a value that has none: a constant, sizes, or a copy of what a fallback operation returned."""
        elements = self.constant(value)
        if elements is not None:
            return self.constant_tensor(elements, (value, "plain"))
        tensor = self.temporary(self.dtype(value), self.known_shape(value), value.name)
        sizes = self.size_elements(value)
        if sizes is None:
            self.actions.append(CopyIn(value, tensor))
        else:
            self.emit(write_sizes_step(tensor, sizes))
        return tensor

    def dense(self, value: Value) -> TensorView:
        """The value in row-major order without gaps."""
        first = self.any_layout(value)
        for tensor in self.tensors[value]:
            if tensor.is_dense:
                return tensor
        return self.copy(value, first, self.temporary(first.dtype, first.shape, value.name))

    def dense_rows(self, value: Value) -> TensorView:
        """The value with the elements of its last dim contiguous, and rows one pitch apart."""
        self.any_layout(value)
        for tensor in self.tensors[value]:
            if tensor.row_stride is not None:
                return tensor
        return self.dense(value)

    def channels_last(self, value: Value) -> TensorView:
        """A value [N, C, ...] as a tensor [N, ..., C] with contiguous channels, and pixels one pitch apart."""
        first = self.any_layout(value)
        order = channels_last_permutation(first.rank)
        for tensor in self.tensors[value]:
            if (permuted := tensor.permute(order)).row_stride is not None:
                return permuted
        temporary = self.temporary(first.dtype, first.permute(order).shape, value.name)
        return self.copy(value, first, temporary.permute(channels_first_permutation(first.rank))).permute(
            order
        )

    def has_channels_last(self, value: Value) -> bool:
        """Whether the value is held with its channels innermost, and not dense in its own order."""
        tensors = self.tensors.get(value, [])
        order = channels_last_permutation(tensors[0].rank) if tensors and tensors[0].rank > 2 else ()
        return bool(order) and any(
            t.permute(order).row_stride is not None and not t.is_dense for t in tensors
        )

    def copy(self, value: Value, source: TensorView, target: TensorView) -> TensorView:
        """Emits a copy of the value into another layout."""
        self.emit(copy_step(source, target))
        self.tensors[value].append(target)
        return target

    # --- memory ------------------------------------------------------------------------------

    def bind(self, value: Value, *tensors: TensorView) -> None:
        """Declares the tensors that hold a value."""
        self.tensors[value] = [*tensors]

    def temporary(self, dtype: DataType, shape: Sequence[Known], name: str) -> TensorView:
        """A dense tensor in the arena."""
        return dense_temporary(dtype, shape, name)

    def constant_tensor(self, elements: Array, key: object = None) -> TensorView:
        """A tensor of constant data, shared by all requests with the same key."""
        tensor = None if key is None else self._constants.get(key)
        if tensor is None:
            data = np.ascontiguousarray(elements).reshape(
                elements.shape
            )  # ascontiguousarray makes scalars 1-D
            buffer = Buffer("constant", data.nbytes, "constant", data)
            tensor = TensorView(DataType.of(data.dtype), data.shape, row_major_strides(data.shape), buffer)
            if key is not None:
                self._constants[key] = tensor
        return tensor

    def allocate(self, value: Value, role: Literal["arena", "output"] = "arena") -> TensorView:
        """A dense tensor for a value."""
        shape, dtype = self.known_shape(value), self.dtype(value)
        return TensorView(
            dtype, shape, row_major_strides(shape), Buffer(role, dense_bytes(dtype, shape), value.name)
        )

    def allocate_result(self, value: Value, *, channels_last: bool = False) -> TensorView:
        """A tensor for a result, bound to it: a slice of a Concat's output, an output of the program, or a temporary.

        With `channels_last` the tensor returned is [N, ..., C] for a value [N, C, ...].
        """
        tensor = self.concat_elision.slice_of(value, channels_last=channels_last)
        shape = self.known_shape(value)
        order = channels_last_permutation(len(shape))
        if tensor is None and channels_last and len(shape) > 2:
            permuted = tuple(shape[i] for i in order)
            tensor = self.temporary(self.dtype(value), permuted, value.name).permute(
                channels_first_permutation(len(shape))
            )
        if tensor is None:
            tensor = self.allocate(value, "output" if value in self.outputs else "arena")
        self.bind(value, tensor)
        return tensor.permute(order) if channels_last else tensor

    # --- steps -------------------------------------------------------------------------------

    def emit(self, *steps: Step) -> None:
        """Appends steps, attributed to the nodes being lowered, and starts to compile their kernels."""
        for step in steps:
            compile_kernel_async(step.kernel)
        self.actions += [step if step.nodes else step.with_nodes(self.node_names) for step in steps]

    def make_lazy(self, value: Value, compute: Callable[[], None]) -> None:
        """Defers a value until it is first requested; consumers may read its operands instead.  `compute` binds it."""

        def compute_in_its_name() -> None:
            names, self.node_names = self.node_names, (value.name,)
            compute()
            self.node_names = names

        self.lazy[value] = compute_in_its_name

    def memoize(self, key: object, make: Callable[[], T]) -> T:
        """The result of the first `make` for this key."""
        if key not in self._memo:
            self._memo[key] = make()
        return cast(T, self._memo[key])
