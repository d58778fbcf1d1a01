"""Softmax and normalisations along rows."""

from __future__ import annotations

from sardonyx._src.compile.elements import HALVES
from sardonyx._src.compile.endings import Ending, ending
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.nodes import Call
from sardonyx._src.compile.registry import lowers
from sardonyx._src.compile.rows.norms import Norm, normalised
from sardonyx._src.compile.rows.softmax import softmax
from sardonyx._src.compile.tail import Tail
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Value


@lowers("Softmax", 13)
@lowers("LogSoftmax", 13)
def softmax_(call: Call, at: Lowering) -> bool:
    x = call.input(0)
    if x is None or not is_float(at, x) or at.shape(call.output) is None or not at.known_shape(x):
        return False
    source, axis, is_log = at.dense(x), call.attribute("axis", int), call.op_type == "LogSoftmax"
    half, result = None, call.output
    if axis in (-1, source.rank - 1) and not is_log:
        half, result = rounded(at, call.output)
    step = softmax(source, at.result(result), axis, log=is_log, half=half)
    assert step is not None, "dense rows have a kernel"
    at.emit(step)
    return True


def rounded(at: Lowering, value: Value) -> tuple[DataType | None, Value]:
    """The type of 16 bits that a result is rounded to, if it is, and which value is made where kernels round it themselves."""
    node = at.only_reader(value)
    if node is None or node.op_type != "Cast" or (half := at.dtype_of(node.outputs[0])) not in HALVES:
        return None, value
    back = at.only_reader(node.outputs[0])
    if back is None or back.op_type != "Cast" or at.dtype_of(back.outputs[0]) is not DataType.FLOAT:
        return half, value
    at.done.update((node, back))
    return half, back.outputs[0]


def is_float(at: Lowering, value: Value | None) -> bool:
    return value is not None and at.is_native(value) and at.dtype_of(value) is DataType.FLOAT


@lowers("LayerNormalization", 17)
@lowers("RMSNormalization", 23)
def norm(call: Call, at: Lowering) -> bool:
    """Rows from an axis on, scaled and moved by one number for each of their elements."""
    x, scale, bias = call.input(0), call.input(1), call.input(2)
    if (
        x is None
        or not is_float(at, x)
        or call.wanted(1)
        or call.wanted(2)
        or call.attributes["stash_type"] != 1
    ):
        return False
    shape = at.known_shape(x)
    axis = call.attribute("axis", int) % max(len(shape), 1)
    for one in (scale, bias):
        if one is not None and not (is_float(at, one) and at.known_shape(one) == shape[axis:]):
            return False
    if at.shape(call.output) != shape or not shape:
        return False
    columns = [None if one is None else at.dense(one) for one in (scale, bias)]
    source = at.dense(x)
    end = ending(at, call.output) if axis == len(shape) - 1 else Ending(Tail(), (), at.result(call.output))
    found = Norm(
        call.attribute("epsilon", float),
        centered=call.op_type == "LayerNormalization",
        scale=columns[0],
        bias=columns[1],
        tail=end.tail,
        operands=end.operands,
    )
    step = normalised(source, end.y, axis, found)
    assert step is not None, "dense rows have a kernel"
    at.emit(step)
    return True
