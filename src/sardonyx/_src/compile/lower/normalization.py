"""InstanceNormalization and GroupNormalization: channels last where the image is so, else plane by plane."""

from __future__ import annotations

from sardonyx._src.compile.endings import absorb, ending
from sardonyx._src.compile.fusion import behind
from sardonyx._src.compile.geometry import image
from sardonyx._src.compile.lower.pooling import is_image
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.groups import group_normalised
from sardonyx._src.compile.spatial.normalization import normalized
from sardonyx._src.compile.tail import RESULT, Tail
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import known_equal
from sardonyx._src.ir.graph import Value


@lowers("InstanceNormalization", 22)
def instance(call: Call, at: Lowering) -> bool:
    return lower(call, at, None)


@lowers("GroupNormalization", 21)
def group(call: Call, at: Lowering) -> bool:
    return call.attributes["stash_type"] == 1 and lower(call, at, call.attribute("num_groups", int))


def lower(call: Call, at: Lowering, groups: int | None) -> bool:
    """groups: of channels, or None if each is one of its own."""
    x = call.input(0)
    if x is None or not is_normalisable(call, at, x, groups):
        return False
    if is_image(at, x) and at.has_channels_last(x):
        channels_last(call, at, x, groups)
    else:
        planes(call, at, x, groups)
    return True


def is_normalisable(call: Call, at: Lowering, x: Value, groups: int | None) -> bool:
    values = [x, *(value for i in (1, 2) if (value := call.input(i)) is not None)]
    if len(values) != 3 or not all(at.is_native(v) and at.dtype_of(v) is DataType.FLOAT for v in values):
        return False
    shape = at.known_shape(x)
    if len(shape) < 2 or shape[1] == 0 or at.shape(call.output) != shape:
        return False
    if any(at.known_shape(value) != (shape[1],) for value in values[1:]):
        return False
    return groups is None or (groups > 0 and known_equal(shape[1] // groups * groups, shape[1]) is True)


def channels_last(call: Call, at: Lowering, x: Value, groups: int | None) -> None:
    source = image(at.channels_last(x))
    scale, bias = parameters(call, at)
    end = ending(at, call.output, channels_last=True)
    operands = tuple(map(image, end.operands))
    epsilon = call.attribute("epsilon", float)
    at.emit(normalized(source, scale, bias, image(end.y), epsilon, groups, end.tail, operands))


def planes(call: Call, at: Lowering, x: Value, groups: int | None) -> None:
    """What follows goes along if it takes nothing but numbers."""
    source = at.dense(x)
    scale, bias = parameters(call, at)
    value, tail = call.output, Tail()
    followers = behind(at, value, lambda other, shape: False, RESULT)
    if followers is not None:
        absorb(at, followers)
        value, tail = followers.result, Tail(followers.value)
    y = at.result(value)
    each = at.known_shape(x)[1] if groups is None else groups
    epsilon = call.attribute("epsilon", float)
    step = group_normalised(source, y, scale, bias, groups=each, epsilon=epsilon, tail=tail)
    assert step is not None, "dense planes have a kernel"
    at.emit(step)


def parameters(call: Call, at: Lowering) -> tuple[Tensor, Tensor]:
    """Scale and bias, [C] each."""
    scale, bias = call.input(1), call.input(2)
    assert scale is not None and bias is not None, "both are there"
    return at.dense(scale), at.dense(bias)
