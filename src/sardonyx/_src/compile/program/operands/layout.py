"""Layouts: the requirements of kernels on the strides of tensors.

Each layout is a small class that recognizes the tensors in this layout (`view`), and makes new ones (`allocate`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from sardonyx._src.compile.program.operands.tensor import (
    TensorView,
    channels_first_permutation,
    channels_last_permutation,
    dense_temporary,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known

Shape = tuple[Known, ...]


class Layout(Protocol):
    """A requirement on strides."""

    def view(self, tensor: TensorView) -> TensorView | None:
        """The view of the tensor that kernels of this layout read; None if the tensor has another layout."""

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        """A new temporary with the dims of the value, in this layout."""


@dataclass(frozen=True, slots=True)
class AnyLayout:
    """Any strides: kernels read whichever tensor holds the value."""

    def view(self, tensor: TensorView) -> TensorView | None:
        return tensor

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        return dense_temporary(dtype, shape, name)

    def __str__(self) -> str:
        return "any"


@dataclass(frozen=True, slots=True)
class Dense:
    """Row-major without gaps."""

    def view(self, tensor: TensorView) -> TensorView | None:
        return tensor if tensor.is_dense else None

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        return dense_temporary(dtype, shape, name)

    def __str__(self) -> str:
        return "dense"


@dataclass(frozen=True, slots=True)
class DenseRows:
    """The elements of the last dim contiguous, and rows one stride apart."""

    def view(self, tensor: TensorView) -> TensorView | None:
        return tensor if tensor.row_stride is not None or tensor.is_dense else None

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        return dense_temporary(dtype, shape, name)

    def __str__(self) -> str:
        return "rows"


@dataclass(frozen=True, slots=True)
class ChannelsLast:
    """A value [N, C, ...] as a tensor [N, ..., C] with contiguous channels, and pixels one stride apart.

    is_dense: whether pixels have no gaps between them either.
    """

    is_dense: bool = False

    def view(self, tensor: TensorView) -> TensorView | None:
        permuted = tensor.permute(channels_last_permutation(tensor.rank))
        return permuted if (permuted.is_dense if self.is_dense else permuted.row_stride is not None) else None

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        permuted = tuple(shape[i] for i in channels_last_permutation(len(shape)))
        return dense_temporary(dtype, permuted, name).permute(channels_first_permutation(len(shape)))

    def __str__(self) -> str:
        return "channels last"


@dataclass(frozen=True, slots=True)
class UnitStride:
    """Contiguous elements along one axis; otherwise a new tensor is allocated in the layout `otherwise`."""

    axis: int
    otherwise: Layout

    def view(self, tensor: TensorView) -> TensorView | None:
        return tensor if tensor.rank and tensor.strides[self.axis] == 1 else None

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        return self.otherwise.allocate(dtype, shape, name)

    def __str__(self) -> str:
        return f"unit stride along {self.axis}"


@dataclass(frozen=True, slots=True)
class Permuted:
    """Dense after a permutation of the dims; `order`: the dims in the order of memory, outermost first."""

    order: tuple[int, ...]

    def view(self, tensor: TensorView) -> TensorView | None:
        return tensor if tensor.permute(self.order).is_dense else None

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        inverse = tuple(self.order.index(axis) for axis in range(len(shape)))
        return dense_temporary(dtype, tuple(shape[i] for i in self.order), name).permute(inverse)

    def __str__(self) -> str:
        return f"permuted {self.order}"


@dataclass(frozen=True, slots=True)
class Follow:
    """Channels last, if a value that decides the layout of the region is held so; the layout `otherwise` if not."""

    otherwise: Layout
    channels_last: Layout = ChannelsLast()

    def choose(self, *, channels_last: bool) -> Layout:
        return self.channels_last if channels_last else self.otherwise

    def view(self, tensor: TensorView) -> TensorView | None:
        raise AssertionError("a layout that follows is resolved before it is used")

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        raise AssertionError("a layout that follows is resolved before it is used")

    def __str__(self) -> str:
        return f"{self.channels_last} or {self.otherwise}"


@dataclass(frozen=True, slots=True)
class CustomLayout:
    """A layout of one kernel family, such as rows padded to whole words.

    find: the function of `view`.
    make: the function of `allocate`.
    otherwise: the layout of a result that a region cannot write in this layout, since it is an output of the graph,
        or a part of a Concat.
    element: the element type to which elements are rounded in this layout; None if they keep their own.
    """

    name: str
    find: Callable[[TensorView], TensorView | None]
    make: Callable[[DataType, Shape, str], TensorView]
    otherwise: Layout = Dense()
    element: DataType | None = None

    def view(self, tensor: TensorView) -> TensorView | None:
        return self.find(tensor)

    def allocate(self, dtype: DataType, shape: Shape, name: str) -> TensorView:
        return self.make(dtype, shape, name)

    def __str__(self) -> str:
        return self.name


ANY, DENSE, ROWS, CHANNELS_LAST = AnyLayout(), Dense(), DenseRows(), ChannelsLast()
FOLLOW = Follow(DENSE)
