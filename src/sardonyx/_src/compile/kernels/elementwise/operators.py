"""The elementwise operators that kernels compute, as scalar expressions; each in the newest version of its schema.

`SCALAR_OPERATORS` is the only list of them.  To add one that is made of existing operations, add its line and run
`make regen`: lowering, fusion, epilogues, half-precision promotion and the tests of native operators follow the table.
An operation that kernels do not have yet is a vector function: a module in `codegen/math`, listed in its `table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from sardonyx._src.compile.codegen.element_types import CODED_TYPES, HALF_TYPES, LLVM_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Scalar
from sardonyx._src.compile.kernels.elementwise import activations, arithmetic, conversion, quantization
from sardonyx._src.compile.kernels.elementwise.arithmetic import fold_rule, swapped_rule
from sardonyx._src.compile.kernels.elementwise.operator_call import OperatorCall, ScalarRule, operation_rule
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType

ElementTypes = frozenset[DataType]
FP32: ElementTypes = frozenset({DataType.FLOAT})
FLOATS: ElementTypes = FP32 | {DataType.DOUBLE}
INTEGERS: ElementTypes = frozenset(t for t in LLVM_ELEMENTS if t.is_integer)
NUMBERS: ElementTypes = FLOATS | INTEGERS
SIGNED: ElementTypes = frozenset(t for t in NUMBERS if t.is_signed)
BOOL: ElementTypes = frozenset({DataType.BOOL})
ANY: ElementTypes = NUMBERS | BOOL
CASTABLE: ElementTypes = ANY | HALF_TYPES | CODED_TYPES
CONVERSIONS = ("Cast", "QuantizeLinear", "DequantizeLinear")  # operators that read and write every type


@dataclass(frozen=True, slots=True)
class ScalarOperator:
    """An elementwise operator that kernels compute.

    types: the element types of the first input that kernels support.
    rule: the function that returns the expression of an output element.
    limits: why the rule returns None for some operands.
    """

    types: ElementTypes
    rule: ScalarRule
    limits: str = ""


SCALAR_OPERATORS: Mapping[str, ScalarOperator] = {
    "Abs": ScalarOperator(NUMBERS, operation_rule("abs")),
    "Acos": ScalarOperator(FP32, operation_rule("acos")),
    "Acosh": ScalarOperator(FP32, operation_rule("acosh")),
    "Add": ScalarOperator(NUMBERS, operation_rule("add")),
    "And": ScalarOperator(BOOL, operation_rule("and")),
    "Asin": ScalarOperator(FP32, operation_rule("asin")),
    "Asinh": ScalarOperator(FP32, operation_rule("asinh")),
    "Atan": ScalarOperator(FP32, operation_rule("atan")),
    "Atanh": ScalarOperator(FP32, operation_rule("atanh")),
    "BatchNormalization": ScalarOperator(FP32, arithmetic.batch_normalization),
    "BitShift": ScalarOperator(INTEGERS, arithmetic.bit_shift),
    "BitwiseAnd": ScalarOperator(INTEGERS, operation_rule("and")),
    "BitwiseNot": ScalarOperator(INTEGERS, operation_rule("not")),
    "BitwiseOr": ScalarOperator(INTEGERS, operation_rule("or")),
    "BitwiseXor": ScalarOperator(INTEGERS, operation_rule("xor")),
    "Cast": ScalarOperator(CASTABLE, conversion.cast),
    "Ceil": ScalarOperator(FLOATS, operation_rule("ceil")),
    "Celu": ScalarOperator(FP32, activations.celu),
    "Clip": ScalarOperator(NUMBERS, activations.clip),
    "Cos": ScalarOperator(FP32, operation_rule("cos")),
    "Cosh": ScalarOperator(FP32, operation_rule("cosh")),
    "DequantizeLinear": ScalarOperator(
        quantization.QUANTIZED_TYPES | CODED_TYPES | {DataType.INT32}, quantization.dequantize_linear
    ),
    "Div": ScalarOperator(NUMBERS, arithmetic.div),
    "Elu": ScalarOperator(FP32, activations.elu),
    "Equal": ScalarOperator(ANY, operation_rule("eq")),
    "Erf": ScalarOperator(FP32, operation_rule("erf")),
    "Exp": ScalarOperator(FLOATS, operation_rule("exp")),
    "Floor": ScalarOperator(FLOATS, operation_rule("floor")),
    "Gelu": ScalarOperator(FP32, activations.gelu),
    "Greater": ScalarOperator(NUMBERS, swapped_rule("lt")),
    "GreaterOrEqual": ScalarOperator(NUMBERS, swapped_rule("le")),
    "HardSigmoid": ScalarOperator(FLOATS, activations.hard_sigmoid),
    "HardSwish": ScalarOperator(FLOATS, activations.hard_swish),
    "Identity": ScalarOperator(ANY, arithmetic.identity),
    "IsInf": ScalarOperator(FLOATS, arithmetic.is_inf),
    "IsNaN": ScalarOperator(FLOATS, operation_rule("isnan")),
    "LeakyRelu": ScalarOperator(FLOATS, activations.leaky_relu),
    "Less": ScalarOperator(NUMBERS, operation_rule("lt")),
    "LessOrEqual": ScalarOperator(NUMBERS, operation_rule("le")),
    "Log": ScalarOperator(FLOATS, operation_rule("log")),
    "Max": ScalarOperator(NUMBERS, fold_rule("max")),
    "Mean": ScalarOperator(FLOATS, arithmetic.mean),
    "Min": ScalarOperator(NUMBERS, fold_rule("min")),
    "Mish": ScalarOperator(FP32, operation_rule("mish")),
    "Mod": ScalarOperator(NUMBERS, arithmetic.mod),
    "Mul": ScalarOperator(NUMBERS, operation_rule("mul")),
    "Neg": ScalarOperator(SIGNED, operation_rule("neg")),
    "Not": ScalarOperator(BOOL, operation_rule("not")),
    "Or": ScalarOperator(BOOL, operation_rule("or")),
    "PRelu": ScalarOperator(NUMBERS, activations.prelu),
    "Pow": ScalarOperator(
        NUMBERS,
        arithmetic.pow,
        "an integer to the power of a float is computed in floats, and refused if it does not fit",
    ),
    "QuantizeLinear": ScalarOperator(FP32 | HALF_TYPES | {DataType.INT32}, quantization.quantize_linear),
    "Reciprocal": ScalarOperator(FLOATS, operation_rule("reciprocal")),
    "Relu": ScalarOperator(SIGNED, activations.relu),
    "Round": ScalarOperator(FLOATS, operation_rule("round")),
    "Selu": ScalarOperator(FP32, activations.selu),
    "Sigmoid": ScalarOperator(FLOATS, operation_rule("sigmoid")),
    "Sign": ScalarOperator(NUMBERS, operation_rule("sign")),
    "Sin": ScalarOperator(FP32, operation_rule("sin")),
    "Sinh": ScalarOperator(FP32, operation_rule("sinh")),
    "Softplus": ScalarOperator(FLOATS, operation_rule("softplus")),
    "Softsign": ScalarOperator(FLOATS, activations.softsign),
    "Sqrt": ScalarOperator(FLOATS, operation_rule("sqrt")),
    "Sub": ScalarOperator(NUMBERS, operation_rule("sub")),
    "Sum": ScalarOperator(FLOATS, fold_rule("add")),
    "Swish": ScalarOperator(FP32, activations.swish),
    "Tan": ScalarOperator(FP32, operation_rule("tan")),
    "Tanh": ScalarOperator(FLOATS, operation_rule("tanh")),
    "ThresholdedRelu": ScalarOperator(FLOATS, activations.thresholded_relu),
    "Where": ScalarOperator(BOOL, arithmetic.where),
    "Xor": ScalarOperator(BOOL, operation_rule("xor")),
}


def scalar_expression(
    op_type: str,
    attributes: Mapping[str, object],
    args: Sequence[Scalar | None],
    types: Sequence[DataType | None],
) -> Scalar | None:
    """The expression of an output element of an ai.onnx operator; None if only its reference kernel can compute it.

    The other parameters are those of `OperatorCall`.
    """
    operator = SCALAR_OPERATORS.get(op_type)
    supported = CASTABLE if op_type in CONVERSIONS else ANY
    has_supported_types = all(t in supported for t in types if t is not None)
    if operator is None or not has_supported_types or not types or types[0] not in operator.types:
        return None
    if any(isinstance(value, float) and not isfinite(value) for value in attributes.values()):
        # Rules select values by minima and maxima, which do not discard the NaN of an infinity times zero.
        return None
    return operator.rule(OperatorCall(attributes, tuple(args), tuple(types)))
