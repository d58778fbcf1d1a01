"""Operands of attention: heads as views [B, H, S, D] of values, and masks broadcast to the scores."""

from __future__ import annotations

from sardonyx._src.compile.partition import Read, Scope, Shape, Write
from sardonyx._src.compile.program import DENSE, TensorView
from sardonyx._src.compile.program.operands.layout import ROWS, Permuted, UnitStride
from sardonyx._src.compile.program.operands.views import reshape_view
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import Known, dim_min, known_equal, known_ge

SWAP_HEADS_AND_TOKENS = (0, 2, 1, 3)  # [B, H, S, D] to [B, S, H, D] and back


@dataclass(frozen=True, slots=True)
class Heads:
    """A value [B, H, S, D] or [B, S, H * D] (merged), and its dims [B, H, S, D]."""

    value: Value
    shape: Shape
    is_merged: bool

    @property
    def read(self) -> Read:
        """The value with contiguous rows."""
        return Read(self.value, ROWS if self.is_merged else UnitStride(3, DENSE))

    def view(self, tensor: TensorView) -> TensorView | None:
        """A tensor of the value as [B, H, S, D]; None if its rows are not evenly spaced."""
        return split_heads(tensor, self.shape) if self.is_merged else tensor


def match_heads(scope: Scope, value: Value | None, num_heads: object) -> Heads | None:
    """The heads of a native value; None if it has another rank.  num_heads: an attribute, for merged heads."""
    shape = () if value is None else scope.known_shape(value)
    if value is not None and len(shape) == 4:
        return Heads(value, shape, is_merged=False)
    if value is None or len(shape) != 3 or not isinstance(num_heads, int) or num_heads < 1:
        return None
    head_size = shape[2] // num_heads
    if not known_equal(head_size * num_heads, shape[2]):
        return None
    return Heads(value, (shape[0], num_heads, shape[1], head_size), is_merged=True)


def split_heads(tensor: TensorView, shape: Shape) -> TensorView | None:
    """A tensor [B, S, H * D] as [B, H, S, D]; None where no strides express it."""
    view = reshape_view(tensor, tuple(shape[i] for i in SWAP_HEADS_AND_TOKENS))
    return None if view is None else view.permute(SWAP_HEADS_AND_TOKENS)


def as_heads(tensor: TensorView, shape: Shape) -> TensorView:
    """A tensor [B, H, S, D], or [B, S, H * D] with evenly spaced rows, as [B, H, S, D]."""
    view = tensor if tensor.rank == 4 else split_heads(tensor, shape)
    assert view is not None, f"rows must be evenly spaced; got {tensor}"
    return view


def write_heads(scope: Scope, value: Value) -> Write:
    """The result [B, H, S, D] of attention or of a product; in memory [B, S, H, D] if only a Transpose to that order reads it."""
    consumer = scope.sole_consumer(value)
    bound = scope.bind_node(consumer) if consumer is not None and consumer.op_type == "Transpose" else None
    is_transposed = bound is not None and bound.ints("perm") == SWAP_HEADS_AND_TOKENS
    return Write(value, Permuted(SWAP_HEADS_AND_TOKENS) if is_transposed else DENSE)


# --- masks -----------------------------------------------------------------------------------


def match_mask(scope: Scope, value: Value, scores: Shape) -> Known | None:
    """The number of keys that a mask covers; the later ones are masked out.  None if it does not broadcast to the scores.

    scores: the dims [B, H, S, T] of the scores.
    """
    shape = scope.known_shape(value)
    if len(shape) > 4:
        return None
    outer = zip(reversed(shape[:-1]), reversed(scores[:3]), strict=False)
    if not all(scope.guard_broadcast(size, dim) for size, dim in outer):
        return None
    return count_masked_keys(scope, shape[-1], scores[3]) if shape else scores[3]


def count_masked_keys(scope: Scope, size: Known, total: Known) -> Known | None:
    """The number of keys that a mask covers, from its last dim `size`; None if that is known to exceed the number of keys."""
    if known_equal(size, total) or known_ge(total, size):
        return size
    if size == 1:
        return dim_min(size, total)
    if isinstance(size, int) and isinstance(total, int):
        return None
    scope.guard(dim_min(size, total), size)
    return size


def read_mask(value: Value) -> Read:
    """A mask with contiguous rows."""
    return Read(value, UnitStride(-1, DENSE))


def broadcast_mask(mask: TensorView, scores: Shape, keys: Known) -> TensorView:
    """A mask broadcast to the rank of the scores; a dim that may be 1 at run time gets a stride expression that is then 0."""
    leading = 4 - mask.rank
    strides: list[Known] = [0] * leading
    for size, stride, dim in zip(mask.shape[:-1], mask.strides, scores[leading:], strict=False):
        strides.append(0 if size == 1 else stride if size == dim else stride * dim_min(1, size - 1))
    if mask.rank:
        strides.append(1)
    shape = tuple(1 if s == 0 else dim for s, dim in zip(strides, (*scores[:3], keys), strict=True))
    return TensorView(mask.dtype, shape, tuple(strides), mask.buffer, mask.offset)
