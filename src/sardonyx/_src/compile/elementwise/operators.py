"""Which operators are elementwise, and the value of an element of their output: of those of the newest operator set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sardonyx._src.compile.elements import ELEMENTS, HALVES
from sardonyx._src.compile.elementwise import activations, arithmetic, quantization
from sardonyx._src.compile.elementwise.arithmetic import folded, swapped
from sardonyx._src.compile.elementwise.given import Given, Rule, plain
from sardonyx._src.compile.loops.ir import Scalar
from sardonyx._src.dtypes import DataType

Types = frozenset[DataType]
FLOAT: Types = frozenset({DataType.FLOAT})
FLOATS: Types = FLOAT | {DataType.DOUBLE}
INTEGERS: Types = frozenset(t for t in ELEMENTS if t.is_integer)
NUMBERS: Types = FLOATS | INTEGERS
SIGNED: Types = frozenset(t for t in NUMBERS if t.is_signed)
BOOL: Types = frozenset({DataType.BOOL})
ANY: Types = NUMBERS | BOOL
CASTABLE: Types = ANY | HALVES


@dataclass(frozen=True, slots=True)
class Entry:
    """types: of the first input, for which kernels know the operator."""

    types: Types
    rule: Rule


SCALARS: Mapping[str, Entry] = {
    "Abs": Entry(NUMBERS, plain("abs")),
    "Add": Entry(NUMBERS, plain("add")),
    "And": Entry(BOOL, plain("and")),
    "BatchNormalization": Entry(FLOAT, arithmetic.batch_normalization),
    "BitwiseAnd": Entry(INTEGERS, plain("and")),
    "BitwiseNot": Entry(INTEGERS, plain("not")),
    "BitwiseOr": Entry(INTEGERS, plain("or")),
    "BitwiseXor": Entry(INTEGERS, plain("xor")),
    "Cast": Entry(CASTABLE, arithmetic.cast),
    "Ceil": Entry(FLOATS, plain("ceil")),
    "Celu": Entry(FLOAT, activations.celu),
    "Clip": Entry(NUMBERS, activations.clip),
    "Cos": Entry(FLOAT, plain("cos")),
    "DequantizeLinear": Entry(quantization.NARROW | {DataType.INT32}, quantization.dequantized),
    "Div": Entry(NUMBERS, arithmetic.divided),
    "Elu": Entry(FLOAT, activations.elu),
    "Equal": Entry(ANY, plain("eq")),
    "Erf": Entry(FLOAT, plain("erf")),
    "Exp": Entry(FLOAT, plain("exp")),
    "Floor": Entry(FLOATS, plain("floor")),
    "Gelu": Entry(FLOAT, activations.gelu),
    "Greater": Entry(NUMBERS, swapped("lt")),
    "GreaterOrEqual": Entry(NUMBERS, swapped("le")),
    "HardSigmoid": Entry(FLOATS, activations.hard_sigmoid),
    "HardSwish": Entry(FLOATS, activations.hard_swish),
    "Identity": Entry(ANY, arithmetic.identity),
    "IsInf": Entry(FLOATS, arithmetic.is_inf),
    "IsNaN": Entry(FLOATS, plain("isnan")),
    "LeakyRelu": Entry(FLOATS, activations.leaky_relu),
    "Less": Entry(NUMBERS, plain("lt")),
    "LessOrEqual": Entry(NUMBERS, plain("le")),
    "Log": Entry(FLOAT, plain("log")),
    "Max": Entry(NUMBERS, folded("max")),
    "Mean": Entry(FLOATS, arithmetic.mean),
    "Min": Entry(NUMBERS, folded("min")),
    "Mish": Entry(FLOAT, plain("mish")),
    "Mod": Entry(INTEGERS | FLOAT, arithmetic.modulo),
    "Mul": Entry(NUMBERS, plain("mul")),
    "Neg": Entry(SIGNED, plain("neg")),
    "Not": Entry(BOOL, plain("not")),
    "Or": Entry(BOOL, plain("or")),
    "PRelu": Entry(NUMBERS, activations.prelu),
    "Pow": Entry(NUMBERS, arithmetic.power),
    "QuantizeLinear": Entry(FLOAT, quantization.quantized),
    "Reciprocal": Entry(FLOATS, plain("reciprocal")),
    "Relu": Entry(SIGNED, activations.relu),
    "Round": Entry(FLOATS, plain("round")),
    "Selu": Entry(FLOAT, activations.selu),
    "Sigmoid": Entry(FLOAT, plain("sigmoid")),
    "Sign": Entry(NUMBERS, plain("sign")),
    "Sin": Entry(FLOAT, plain("sin")),
    "Softplus": Entry(FLOAT, plain("softplus")),
    "Softsign": Entry(FLOATS, activations.softsign),
    "Sqrt": Entry(FLOATS, plain("sqrt")),
    "Sub": Entry(NUMBERS, plain("sub")),
    "Sum": Entry(FLOATS, folded("add")),
    "Swish": Entry(FLOAT, activations.swish),
    "Tanh": Entry(FLOAT, plain("tanh")),
    "ThresholdedRelu": Entry(FLOATS, activations.thresholded_relu),
    "Where": Entry(BOOL, arithmetic.where),
    "Xor": Entry(BOOL, plain("xor")),
}


def scalar(
    op_type: str,
    attributes: Mapping[str, object],
    args: Sequence[Scalar | None],
    types: Sequence[DataType | None],
) -> Scalar | None:
    """An element of the output of an ai.onnx operator; None where its reference kernel has to be called.

    attributes: all of them, with the schema's defaults.  args: an element of each input (`Number` where it is a known
    scalar), None for one left out.  types: of the inputs.
    """
    entry = SCALARS.get(op_type)
    known = all(t in ANY or (t in HALVES and op_type == "Cast") for t in types if t is not None)
    if entry is None or not known or not types or types[0] not in entry.types:
        return None
    return entry.rule(Given(attributes, tuple(args), tuple(types)))
