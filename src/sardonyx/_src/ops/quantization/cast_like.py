"""CastLike: elements as the type of another tensor.

Spec: ai.onnx CastLike-15, -19, -21, -23, -24, -25.  Each means what Cast of its operator set means.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.body_text import element_type
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.quantization.cast import FNUZ, cast, known_as, without_infinities
from sardonyx._src.ops.quantization.conversion import rule_of

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


PLAIN = ((19, 21), (21, 23), (24, 25))  # element types alone are new
op.convert(*PLAIN, *((new, old) for old, new in PLAIN), (15, 19))(lambda c: c.same())
op.convert((19, 15))(lambda c: c.same(drop=("saturate",)))  # it concerns types alone that 15 lacks


@op.convert((23, 24))
def to_24(c: Change) -> Converted:
    """Infinities become NaN in the FNUZ types up to 23."""
    if c.dtype(1) not in FNUZ or not c.t.integer("saturate"):
        return c.same()
    return c.same([without_infinities(c), c.input(1)])


@op.convert((24, 23))
def to_23(c: Change) -> Converted:
    """Infinities become the largest number in the FNUZ types from 24 on."""
    x = c.Clip(c.input(0)) if c.dtype(1) in FNUZ and c.t.integer("saturate") else c.input(0)
    return c.same([x, c.input(1)], drop=("round_mode",))


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
