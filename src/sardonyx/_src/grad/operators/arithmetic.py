"""Gradients of Add, Sub, Mul, Div, Pow, Mod, Neg, Abs, Sum, Mean, Max, Min, Where and of functions without slope."""

from __future__ import annotations

from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients

# Operators whose gradient facets also accept a scalar as the gradient of the result: it holds for all elements.
SMOOTH_ARITHMETIC = frozenset({"Add", "Sub", "Mul", "Div", "Neg", "Pow"})


@operator("Add").gradient(14)
def add(step: BackwardStep) -> Gradients:
    return [step.reduce_to_input(step.gradient(), i) if step.wants(i) else None for i in range(2)]


@operator("Sub").gradient(14)
def sub(step: BackwardStep) -> Gradients:
    dA = step.reduce_to_input(step.gradient(), 0) if step.wants(0) else None
    return [dA, step.reduce_to_input(step.Neg(step.gradient()), 1) if step.wants(1) else None]


@operator("Mul").gradient(14)
def mul(step: BackwardStep) -> Gradients:
    return [
        step.reduce_to_input(step.Mul(step.gradient(), step.input(1 - i)), i) if step.wants(i) else None
        for i in range(2)
    ]


@operator("Div").gradient(14)
def div(step: BackwardStep) -> Gradients:
    """dA = dC / B and dB = -C * dC / B."""
    quotient = step.Div(step.gradient(), step.input(1))
    numerator = step.reduce_to_input(quotient, 0) if step.wants(0) else None
    if not step.wants(1):
        return [numerator]
    return [numerator, step.reduce_to_input(step.Neg(step.Mul(step.output(), quotient)), 1)]


@operator("Pow").gradient(15)
def pow_(step: BackwardStep) -> Gradients:
    """dX = Y * X^(Y - 1) * dZ, which is 0 where Y is 0; dY = Z * log(X) * dZ, which is 0 where X is 0 and Y is not below 0."""
    X, Y, dZ = step.input(0), step.input(1), step.gradient()
    exponent = step.CastLike(Y, X)
    base = None
    if step.wants(0):
        slope = step.Mul(exponent, step.Pow(X, step.Sub(exponent, step.scalar(1))))
        is_zero = step.Equal(exponent, step.scalar(0))
        base = step.reduce_to_input(step.Mul(dZ, step.Where(is_zero, step.scalar(0), slope)), 0)
    if not step.wants(1):
        return [base]
    is_flat = step.And(step.Equal(X, step.scalar(0)), step.GreaterOrEqual(exponent, step.scalar(0)))
    logarithm = step.Log(step.Where(is_flat, step.scalar(1), X))
    power = step.CastLike(step.Mul(dZ, step.Mul(step.output(), logarithm)), Y)
    return [base, step.reduce_to_input(power, 1)]


@operator("Mod").gradient(28)
def mod(step: BackwardStep) -> Gradients:
    """C = A - n * B with n = trunc(A / B), as in fmod; dA = dC and dB = -n * dC."""
    A, B, dC = step.input(0), step.input(1), step.gradient()
    multiples = step.Round(step.Div(step.Sub(A, step.output()), B))
    return [step.reduce_to_input(dC, 0), step.reduce_to_input(step.Neg(step.Mul(dC, multiples)), 1)]


@operator("Neg").gradient(13)
def neg(step: BackwardStep) -> Gradients:
    return step.Neg(step.gradient())


@operator("Abs").gradient(13)
def abs_(step: BackwardStep) -> Gradients:
    """dX = sign(X) * dY, which is 0 where X is 0."""
    return step.Mul(step.gradient(), step.Sign(step.input(0)))


@operator("Sum").gradient(13)
def sum_(step: BackwardStep) -> Gradients:
    return [step.reduce_to_input(step.gradient(), i) for i in range(len(step.node.inputs))]


@operator("Mean").gradient(13)
def mean(step: BackwardStep) -> Gradients:
    count = len(step.node.inputs)
    share = step.Div(step.gradient(), step.scalar(count))
    return [step.reduce_to_input(share, i) for i in range(count)]


@operator("Max").gradient(13)
@operator("Min").gradient(13)
def extremum(step: BackwardStep) -> Gradients:
    """Inputs that are equal to the result share its gradient evenly: the subgradient of least norm."""
    inputs = [step.input(i) for i in range(len(step.node.inputs))]
    if len(inputs) == 1:
        return step.gradient()
    hits = [step.CastLike(step.Equal(x, step.output()), step.output()) for x in inputs]
    share = step.Div(step.gradient(), step.Sum(*hits))
    return [step.reduce_to_input(step.Mul(share, hit), i) for i, hit in enumerate(hits)]


@operator("Where").gradient(16)
def where(step: BackwardStep) -> Gradients:
    condition, dZ, zero = step.input(0), step.gradient(), step.scalar(0, 1)
    x = step.reduce_to_input(step.Where(condition, dZ, zero), 1) if step.wants(1) else None
    y = step.reduce_to_input(step.Where(condition, zero, dZ), 2) if step.wants(2) else None
    return [None, x, y]


@operator("Identity").gradient(25)
def identity(step: BackwardStep) -> Gradients:
    return step.gradient()


@operator("Cast").gradient(28)
@operator("CastLike").gradient(25)
def cast(step: BackwardStep) -> Gradients:
    """Rounding to another float type counts as the identity; no gradient flows through a cast from or to integers."""
    return step.op("Cast", step.gradient(), to=step.dtype(0))


@operator("Range").gradient(27)
def range_(step: BackwardStep) -> Gradients:
    """Elements are start + i * delta; the limit, which decides only about their number, has no gradient."""
    dy = step.gradient()
    number = step.CastLike(step.Range(step.integers(0), step.Size(dy), step.integers(1)), dy)
    total = step.op("ReduceSum", dy, keepdims=0)
    slope = step.op("ReduceSum", step.Mul(dy, number), keepdims=0)
    return [step.reshape_like(total, step.input(0)), None, step.reshape_like(slope, step.input(2))]


@operator("Sign").gradient(13)
@operator("Floor").gradient(13)
@operator("Ceil").gradient(13)
@operator("Round").gradient(22)
@operator("ConstantOfShape").gradient(25)
@operator("EyeLike").gradient(22)
@operator("Hardmax").gradient(13)
@operator("RandomNormalLike").gradient(22)
@operator("RandomUniformLike").gradient(22)
@operator("Bernoulli").gradient(22)
@operator("TreeEnsemble", "ai.onnx.ml").gradient(5)
@operator("TreeEnsembleClassifier", "ai.onnx.ml").gradient(5)
@operator("TreeEnsembleRegressor", "ai.onnx.ml").gradient(5)
@operator("Binarizer", "ai.onnx.ml").gradient(1)
def without_slope(step: BackwardStep) -> Gradients:
    """Functions whose derivative is 0 wherever it exists, and functions of shapes only: no gradient flows."""
    none: list[Value | None] = [None]
    return none
