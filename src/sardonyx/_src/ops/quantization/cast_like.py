"""CastLike: elements as the type of another tensor.

Spec: ai.onnx CastLike-15, -19, -21, -23, -24, -25.  Each version converts as Cast of the same operator set does.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.quantization.cast import cast, known_as, without_infinities
from sardonyx._src.ops.quantization.conversion import FNUZ_TYPES, ROUND_MODES, rule_of
from sardonyx._src.ops.support.body_text import element_type
from sardonyx._src.ops.traits import enum_values
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter, keep

op = Operator(
    "CastLike", elementwise=True, casts=True, enum_attributes={"round_mode": enum_values(*ROUND_MODES)}
)


@op.eval(15)
def eval_15(input: Array, target_type: Array, *, context: RunContext) -> Array:
    return cast(input, DataType.of(target_type.dtype), rule_of(context.version))


@op.eval(19, 21, 23)
def eval_19(input: Array, target_type: Array, *, saturate: int, context: RunContext) -> Array:
    return cast(input, DataType.of(target_type.dtype), rule_of(context.version, saturate))


@op.eval(24, 25)
def evaluate(
    input: Array, target_type: Array, *, saturate: int, round_mode: str, context: RunContext
) -> Array:
    """input, result: of the same shape; target_type: of any shape."""
    return cast(input, DataType.of(target_type.dtype), rule_of(context.version, saturate, round_mode))


CAST_LIKE_TYPE_STEPS = ((19, 21), (21, 23), (24, 25))  # steps that only add element types
op.convert(*CAST_LIKE_TYPE_STEPS, *((new, old) for old, new in CAST_LIKE_TYPE_STEPS), (15, 19))(keep)
op.convert((19, 15))(
    lambda adapter: adapter.same(drop=("saturate",))
)  # `saturate` concerns only types that 15 lacks


@op.convert((23, 24))
def to_24(adapter: Adapter) -> AdaptedNode:
    """Infinities become NaN in the FNUZ types up to 23."""
    if adapter.dtype(1) not in FNUZ_TYPES or not adapter.inference.integer("saturate"):
        return adapter.same()
    return adapter.same([without_infinities(adapter), adapter.input(1)])


@op.convert((24, 23))
def to_23(adapter: Adapter) -> AdaptedNode:
    """Infinities become the largest number in the FNUZ types from 24 on."""
    x = (
        adapter.Clip(adapter.input(0))
        if adapter.dtype(1) in FNUZ_TYPES and adapter.inference.integer("saturate")
        else adapter.input(0)
    )
    return adapter.same([x, adapter.input(1)], drop=("round_mode",))


@op.infer(15, 19, 21, 23, 24, 25)
def infer(inference: Inference) -> Result:
    to = inference.dtype(1)
    return None if to is None else TensorType(to, inference.shape(0))


@op.value(15, 19, 21, 23, 24, 25)
def value(inference: Inference) -> Known | None:
    to = inference.dtype(1)
    return None if to is None else known_as(inference, to)


def body(inference: Inference) -> str:
    attributes = [f"to = {int(element_type(inference, 1))}"]
    if "saturate" in inference.attributes:
        attributes.append(f"saturate = {inference.integer('saturate')}")
    if "round_mode" in inference.attributes:
        attributes.append(f'round_mode = "{inference.attributes["round_mode"]}"')
    return f"(x, like) => (y) {{ y = Cast <{', '.join(attributes)}> (x) }}"


op.body(15, opset=13)(body)
for version in (19, 21, 23, 24, 25):
    op.body(version, opset=version)(body)
