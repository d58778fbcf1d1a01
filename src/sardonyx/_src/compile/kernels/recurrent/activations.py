"""The activations of recurrent cells on vectors of float32 or float64: each is the formula of its reference function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.math import double_functions
from sardonyx._src.compile.kernels.recurrent.fractions import Fraction, sigmoid_fraction, tanh_fraction
from sardonyx._src.ops.nn.recurrent_activations import Activation

Emitter = Callable[[KernelBuilder, LLVMValue, Activation], LLVMValue]


def emit_function(b: KernelBuilder, name: str, x: LLVMValue) -> LLVMValue:
    """tanh, sigmoid, softplus or expm1, by name."""
    if x.type.element == "float":
        return b.emit_operation(name, x)
    functions = {
        "tanh": double_functions.tanh,
        "sigmoid": double_functions.sigmoid,
        "softplus": double_functions.softplus,
        "expm1": double_functions.expm1,
    }
    return functions[name](b, x)


def emit_elu(b: KernelBuilder, x: LLVMValue, a: Activation) -> LLVMValue:
    return b.select(x >= 0, x, a.alpha * emit_function(b, "expm1", x))


def emit_scaled_tanh(b: KernelBuilder, x: LLVMValue, a: Activation) -> LLVMValue:
    return a.alpha * emit_function(b, "tanh", a.beta * x)


def emit_thresholded_relu(b: KernelBuilder, x: LLVMValue, a: Activation) -> LLVMValue:
    return b.select(x >= a.alpha, x, b.constant(0.0, x.type))


EMITTERS: Mapping[str, Emitter] = {
    "relu": lambda b, x, a: x.clamp_min(0),
    "tanh": lambda b, x, a: emit_function(b, "tanh", x),
    "sigmoid": lambda b, x, a: emit_function(b, "sigmoid", x),
    "softsign": lambda b, x, a: x / (1 + b.fabs(x)),
    "softplus": lambda b, x, a: emit_function(b, "softplus", x),
    "leakyrelu": lambda b, x, a: b.select(x >= 0, x, a.alpha * x),
    "thresholdedrelu": emit_thresholded_relu,
    "elu": emit_elu,
    "affine": lambda b, x, a: a.alpha * x + a.beta,
    "scaledtanh": emit_scaled_tanh,
    "hardsigmoid": lambda b, x, a: (a.alpha * x + a.beta).clamp_max(1).clamp_min(0),
}


FRACTIONS: Mapping[str, Callable[[KernelBuilder, LLVMValue], Fraction]] = {
    "sigmoid": sigmoid_fraction,
    "tanh": tanh_fraction,
}  # of float32


def emit_activation(b: KernelBuilder, x: LLVMValue, activation: Activation, clip: float | None) -> Fraction:
    """An activation of x, which is clipped to [-clip, clip] before."""
    if clip is not None:
        x = x.clamp_max(clip).clamp_min(-clip)
    if x.type.element == "float" and (fraction := FRACTIONS.get(activation.name)) is not None:
        return fraction(b, x)
    return Fraction(EMITTERS[activation.name](b, x, activation))
