"""ConvInteger, and what convolutions of bytes by constant weights have in common."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.compile.geometry import Geometry, geometry, image
from sardonyx._src.compile.integer_endings import SUMS, Given, integer_ending
from sardonyx._src.compile.loops.ir import Apply, Cast, Local, Number, Scalar
from sardonyx._src.compile.lower.integer_products import BYTES, HALF, End, column, is_single, wrapped
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.products.integer_convolution import integer_convolution, integer_weights
from sardonyx._src.compile.products.weights import Window
from sardonyx._src.compile.products.words import WORD, in_words, padded
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.spatial.integer_depthwise import integer_depthwise, packed_bytes
from sardonyx._src.compile.spatial.window import Window as Spatial
from sardonyx._src.compile.tensor import Tensor, first_order, last_order
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array


@dataclass(frozen=True, slots=True)
class Convolution:
    """x [N, C, ...] of bytes, whose zero point is `zero` (None: 0), by weights [M, C / group, h, w] int8 less theirs.

    added: to the sums, [M] int64.
    """

    x: Value
    zero: Value | None
    weights: Array
    added: Array
    group: int
    windows: Geometry


@lowers("ConvInteger", 10)
def conv_integer(call: Call, at: Lowering) -> bool:
    weights, zeros = at.constant(call.input(1)), at.constant(call.input(3))
    if weights is None or (zeros is None and call.input(3) is not None):
        return False
    found = convolution(call, at, (call.input(0), call.input(2)), (weights, zeros))
    if found is None:
        return False
    emit(at, found, lambda start, given: integer_ending(at, call.output, start, given, channels_last=True))
    return True


def convolution(
    call: Call, at: Lowering, left: tuple[Value | None, Value | None], right: tuple[Array, Array | None]
) -> Convolution | None:
    """The convolution of a node, if kernels can do it.

    left: x and its zero point.  right: weights [M, C / group, ...] of bytes and theirs, of all or of each channel.
    """
    (x, zero), (weights, zeros), group = left, right, call.attribute("group", int)
    shape = at.shape(x)
    if (
        x is None
        or shape is None
        or at.dtype_of(x) not in BYTES
        or not at.is_native(x)
        or not is_single(at, zero)
    ):
        return None
    moved = less_zeros(weights, zeros)
    if moved is None or at.shape(call.output) is None or weights.size == 0 or not isinstance(shape[1], int):
        return None
    if shape[1] != weights.shape[1] * group or weights.shape[0] % group:
        return None
    is_depthwise = group == weights.shape[0] and weights.shape[1] == 1
    found = geometry(call, shape[2:], weights.shape[2:])
    if found is None or (group > 1 and weights.shape[1] % WORD and not is_depthwise):
        return None
    if moved.ndim == 3:
        moved = moved[:, :, None, :]
    return Convolution(x, zero, moved, np.zeros(len(moved), np.int64), group, found)


def less_zeros(weights: Array, zeros: Array | None) -> Array | None:
    """Weights less their zero points, int8; None if that takes more."""
    moved = weights.astype(np.int16)
    if zeros is not None:
        if zeros.size not in (1, len(weights)) or weights.ndim < 2:
            return None
        moved = moved - zeros.reshape(-1, *(1 for _ in weights.shape[1:])).astype(np.int16)
    fits = moved.size == 0 or (moved.min() >= -HALF and moved.max() < HALF)
    return moved.astype(np.int8) if fits else None


def emit(at: Lowering, found: Convolution, end: End) -> None:
    """Puts down a convolution; `end` makes its end of what the sums are, and of the operands of that."""
    if found.group == len(found.weights) and found.weights.shape[1] == 1 and found.group > 1:
        each_channel(at, found, end)
        return
    flips = at.dtype(found.x) is DataType.INT8
    start, given, begin = sums(at, found, HALF if flips else 0)
    source, zero, at_ = image(words(at, found.x)), zero_of(at, found), found.windows
    window = Window(at_.kernel, at_.strides, at_.dilations, at_.pads[:2])
    weights = integer_weights(found.weights, begin, window, at.target, found.group)
    ending = end(start, given)
    operands = tuple(map(image, ending.operands))
    at.emit(integer_convolution(source, zero, weights, image(ending.y), ending.tail, operands, flips=flips))


def each_channel(at: Lowering, found: Convolution, end: End) -> None:
    """A convolution in which every channel has a kernel of its own, which takes the zero point away as it reads."""
    weights = at.constant_tensor(packed_bytes(found.weights, at.target))
    start, at_, known = at.constant_tensor(wrapped(found.added)), found.windows, at.constant(found.zero)
    is_zero = found.zero is None or (known is not None and not known.any())
    zero = None if is_zero else zero_of(at, found)
    window = Spatial(at_.kernel, at_.strides, at_.dilations, at_.pads)
    source = image(at.channels_last(found.x))
    ending = end(SUMS, [])
    operands = tuple(map(image, ending.operands))
    at.emit(integer_depthwise(source, zero, weights, start, image(ending.y), window, ending.tail, operands))


def sums(at: Lowering, found: Convolution, shift: int) -> tuple[Scalar, list[Given], Array]:
    """What the sums are less what the zero point of x adds, the operands of that, and what they begin with, int32."""
    total = found.weights.sum((1, 2, 3), dtype=np.int64)
    known = np.zeros(1, np.int64) if found.zero is None else at.constant(found.zero)
    if known is not None:
        return SUMS, [], wrapped(found.added - (int(known.reshape(())) + shift) * total)
    assert found.zero is not None, "a zero point that is left out is known"
    point: Scalar = Apply("add", (Cast(DataType.INT32, Local("o0")), Number(shift)))
    given = [Given("scalar", at.dense(found.zero)), column(at, total)]
    return Apply("sub", (SUMS, Apply("mul", (point, Local("o1"))))), given, wrapped(found.added)


def zero_of(at: Lowering, found: Convolution) -> Tensor:
    """The byte that stands around an image."""
    if found.zero is None:
        return at.constant_tensor(np.zeros((), at.dtype(found.x).numpy), ("no zero point", at.dtype(found.x)))
    return at.dense(found.zero)


def words(at: Lowering, x: Value) -> Tensor:
    """A value [N, C, ...] of bytes as words [N, ..., ceil(C / 4)]; copied if its pixels are not whole words apart."""
    at.strided(x)
    rank = len(at.known_shape(x))
    for form in at.forms[x]:
        found = in_words(form.permuted(last_order(rank)))
        if found is not None and found.strides[-1] == 1:
            return found
    first = at.forms[x][0]
    made = padded(first.dtype, first.permuted(last_order(rank)).shape, x.name)
    at.copy(x, first, made.permuted(first_order(rank)))
    found = in_words(made)
    assert found is not None, "pixels have been made so"
    return found
