"""Our inference beside onnx.shape_inference: what one knows and the other does not."""

from __future__ import annotations

from collections.abc import Iterator


from sardonyx.infer.walk import infer
from sardonyx.io import from_proto
from sardonyx.io.types_proto import type_from
from sardonyx.ir.dims import Dim
from sardonyx.ir.graph import Model
from sardonyx.ir.types import OptionalType, SequenceType, TensorType, Type
from sardonyx.ir.walk import values
from sardonyx.proto import messages as m
from sardonyx.proto.binary import decode


def theirs(data: bytes) -> dict[str, Type | None] | None:
    """What onnx.shape_inference says of the main graph's values; None where it refuses the model."""
    import onnx.shape_inference as other

    try:
        done = other.infer_shapes(data, check_type=True, strict_mode=True, data_prop=True)
    except (other.InferenceError, ValueError, RuntimeError, TypeError, IndexError):
        return None
    graph = decode(done.SerializeToString(), m.ModelProto).graph
    assert graph is not None
    return {v.name: type_from(v.type, v.name) for v in (*graph.value_info, *graph.output)}


def ours(model: Model) -> dict[str, Type | None]:
    infer(model)
    return {v.name: v.type for v in values(model.graph)}


def without_hints(data: bytes) -> bytes:
    """The model without the types that it declares of anything but its inputs, so that both have to find them."""
    record = decode(data, m.ModelProto)
    assert record.graph is not None
    record.graph.value_info = []
    for output in record.graph.output:
        output.clear("type")
    from sardonyx.proto.binary import encode

    return encode(record)


def differences(mine: Type | None, other: Type | None) -> Iterator[str]:
    """`contradicts …` where both know and differ, `less …` where only the other one knows."""
    if other is None:
        return
    if mine is None:
        yield f"less: nothing for {other}"
    elif isinstance(mine, TensorType) and isinstance(other, TensorType):
        if mine.dtype is not other.dtype:
            yield f"contradicts: {mine} for {other}"
        elif other.shape is not None:
            yield from shape_differences(mine, other)
    elif isinstance(mine, SequenceType | OptionalType) and type(mine) is type(other):
        yield from differences(mine.elem, other.elem)
    elif type(mine) is not type(other):
        yield f"contradicts: {mine} for {other}"


def shape_differences(mine: TensorType, other: TensorType) -> Iterator[str]:
    assert other.shape is not None
    if mine.shape is None:
        yield f"less: {mine} for {other}"
    elif len(mine.shape) != len(other.shape):
        yield f"contradicts: {mine} for {other}"
    elif any(contradicts(a, b) for a, b in zip(mine.shape, other.shape, strict=True)):
        yield f"contradicts: {mine} for {other}"
    elif any(knows_less(a, b) for a, b in zip(mine.shape, other.shape, strict=True)):
        yield f"less: {mine} for {other}"


def contradicts(mine: Dim, other: Dim) -> bool:
    return isinstance(mine, int) and isinstance(other, int) and mine != other


def knows_less(mine: Dim, other: Dim) -> bool:
    if isinstance(other, int):
        return not isinstance(mine, int)
    return other is not None and not str(other).startswith("unk__") and mine is None


def read(data: bytes) -> Model:
    from conformance.official import NoFiles

    return from_proto.model(decode(data, m.ModelProto), NoFiles())


def compared(data: bytes) -> tuple[list[str], bool]:
    """Differences by value name, and whether the other side had anything to say."""
    found = theirs(data)
    mine = ours(read(data))
    lines = [f"{name}: {d}" for name, other in (found or {}).items() for d in differences(mine.get(name), other)]
    return lines, found is not None


