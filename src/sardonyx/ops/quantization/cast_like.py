"""CastLike: elements as the type of another tensor.

Spec: ai.onnx CastLike-15, -19, -21, -23, -24, -25.  Each means what Cast of its operator set means.
"""

from __future__ import annotations

from sardonyx.dtypes import DataType
from sardonyx.ir.tensors import Array
from sardonyx.ir.types import TensorType
from sardonyx.ops.api import Call, Operator
from sardonyx.ops.body_text import element_type
from sardonyx.ops.inference import Inference, Known, Result
from sardonyx.ops.quantization.cast import cast, known_as
from sardonyx.ops.quantization.conversion import rule_of

op = Operator("CastLike", elementwise=True)


@op.eval(15)
def eval_15(input: Array, target_type: Array, *, call: Call) -> Array:
    return cast(input, DataType.of(target_type.dtype), rule_of(call.version))


@op.eval(19, 21, 23)
def eval_19(input: Array, target_type: Array, *, saturate: int, call: Call) -> Array:
    return cast(input, DataType.of(target_type.dtype), rule_of(call.version, saturate))


@op.eval(24, 25)
def evaluate(input: Array, target_type: Array, *, saturate: int, round_mode: str, call: Call) -> Array:
    """input, result: of the same shape; target_type: of any shape."""
    return cast(input, DataType.of(target_type.dtype), rule_of(call.version, saturate, round_mode))


@op.infer(15, 19, 21, 23, 24, 25)
def infer(t: Inference) -> Result:
    to = t.dtype(1)
    return None if to is None else TensorType(to, t.shape(0))


@op.value(15, 19, 21, 23, 24, 25)
def value(t: Inference) -> Known | None:
    to = t.dtype(1)
    return None if to is None else known_as(t, to)


def body(t: Inference) -> str:
    given = [f"to = {int(element_type(t, 1))}"]
    if "saturate" in t.attributes:
        given.append(f"saturate = {t.integer('saturate')}")
    if "round_mode" in t.attributes:
        given.append(f'round_mode = "{t.attributes["round_mode"]}"')
    return f"(x, like) => (y) {{ y = Cast <{', '.join(given)}> (x) }}"


op.body(15, opset=13)(body)
for version in (19, 21, 23, 24, 25):
    op.body(version, opset=version)(body)
