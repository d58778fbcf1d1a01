"""The functions that values of loops may apply, by name."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx.compile.math.circle import cos, sin
from sardonyx.compile.math.elu import celu, elu, selu
from sardonyx.compile.math.erf import erf
from sardonyx.compile.math.exponential import exp, exp2, expm1
from sardonyx.compile.math.function import Function
from sardonyx.compile.math.gelu import gelu
from sardonyx.compile.math.logarithm import log, log1p
from sardonyx.compile.math.mish import mish
from sardonyx.compile.math.power import pow
from sardonyx.compile.math.roots import reciprocal, rsqrt
from sardonyx.compile.math.sigmoid import sigmoid, silu
from sardonyx.compile.math.softplus import softplus
from sardonyx.compile.math.tanh import tanh

FUNCTIONS: Mapping[str, Function] = {
    one.name: one
    for one in (
        celu, cos, elu, erf, exp, exp2, expm1, gelu, log, log1p, mish, pow, reciprocal, rsqrt, selu, sigmoid, silu,
        sin, softplus, tanh,
    )
}  # fmt: skip
