"""MaxPool, AveragePool, LpPool, and pools of whole images, channels last."""

from __future__ import annotations

from sardonyx._src.compile.endings import ending
from sardonyx._src.compile.geometry import geometry, image
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.spatial.global_pooling import GlobalPool, globally_pooled
from sardonyx._src.compile.spatial.pooling import Pooling, pooled
from sardonyx._src.compile.spatial.window import Window
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


@lowers("MaxPool", 22)
def max_pool(call: Call, at: Lowering) -> bool:
    return not call.wanted(1) and pool(call, at, Pooling("max"))


@lowers("AveragePool", 22)
def average_pool(call: Call, at: Lowering) -> bool:
    return pool(call, at, Pooling("mean_with_pads" if call.attribute("count_include_pad", int) else "mean"))


@lowers("LpPool", 22)
def lp_pool(call: Call, at: Lowering) -> bool:
    return pool(call, at, Pooling("lp", float(call.attribute("p", int))))


def pool(call: Call, at: Lowering, pooling: Pooling) -> bool:
    x, kernel = call.input(0), call.ints("kernel_shape")
    if not is_image(at, x) or kernel is None or at.shape(call.output) is None:
        return False
    assert x is not None, "an image is there"
    _, channels, *sizes = at.known_shape(x)
    found = geometry(call, tuple(sizes), kernel)
    if found is None or not isinstance(channels, int):  # by which the kernel shares out its work
        return False
    source = image(at.channels_last(x))
    end = ending(at, call.output, channels_last=True)
    window = Window(found.kernel, found.strides, found.dilations, found.pads)
    operands = tuple(map(image, end.operands))
    at.emit(pooled(source, image(end.y), pooling, window, end.tail, operands))
    return True


def is_image(at: Lowering, x: Value | None) -> bool:
    """Whether a value is a tensor of one or two spatial dims that kernels can read."""
    if x is None or not at.is_native(x) or at.dtype_of(x) is not DataType.FLOAT:
        return False
    return len(at.known_shape(x)) in (3, 4)


@lowers("GlobalAveragePool", 22)
def global_average_pool(call: Call, at: Lowering) -> bool:
    return whole(call, at, "mean")


@lowers("GlobalMaxPool", 22)
def global_max_pool(call: Call, at: Lowering) -> bool:
    return whole(call, at, "max")


def whole(call: Call, at: Lowering, kind: GlobalPool) -> bool:
    x = call.input(0)
    if not is_image(at, x) or at.shape(call.output) is None:
        return False
    assert x is not None, "an image is there"
    source = image(at.channels_last(x))
    end = ending(at, call.output, channels_last=True)
    at.emit(globally_pooled(source, image(end.y), kind, end.tail, tuple(map(image, end.operands))))
    return True
