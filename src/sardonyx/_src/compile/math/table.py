"""The functions that values of loops may apply, by name."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.math.circle import cos, sin
from sardonyx._src.compile.math.elu import celu, elu, selu
from sardonyx._src.compile.math.erf import erf
from sardonyx._src.compile.math.exponential import exp, exp2, expm1
from sardonyx._src.compile.math.function import Function
from sardonyx._src.compile.math.gelu import gelu
from sardonyx._src.compile.math.logarithm import log, log1p
from sardonyx._src.compile.math.mish import mish
from sardonyx._src.compile.math.power import pow
from sardonyx._src.compile.math.roots import reciprocal, rsqrt
from sardonyx._src.compile.math.sigmoid import sigmoid, silu
from sardonyx._src.compile.math.softplus import softplus
from sardonyx._src.compile.math.tanh import tanh

FUNCTIONS: Mapping[str, Function] = {
    one.name: one
    for one in (
        celu, cos, elu, erf, exp, exp2, expm1, gelu, log, log1p, mish, pow, reciprocal, rsqrt, selu, sigmoid, silu,
        sin, softplus, tanh,
    )
}  # fmt: skip
