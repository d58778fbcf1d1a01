"""The quantile function of the normal distribution in double precision: algorithm AS 241 (Wichura, 1988)."""

from __future__ import annotations

import math

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.double_precision import log

# Numerators and denominators of rational functions, constant terms first.  With q = p - 1/2, the first one is
# a function of 0.180625 - q*q, for |q| <= 0.425.  With r = sqrt(-ln(min(p, 1 - p))), the others are functions
# of r - 1.6, and of r - 5 for r > 5.
CENTER = (
    (
        3.3871328727963665,
        133.14166789178438,
        1971.5909503065513,
        13731.69376550946,
        45921.95393154987,
        67265.7709270087,
        33430.57558358813,
        2509.0809287301227,
    ),
    (
        1.0,
        42.31333070160091,
        687.1870074920579,
        5394.196021424751,
        21213.794301586597,
        39307.89580009271,
        28729.085735721943,
        5226.495278852854,
    ),
)
MIDDLE = (
    (
        1.4234371107496835,
        4.630337846156546,
        5.769497221460691,
        3.6478483247632045,
        1.2704582524523684,
        0.2417807251774506,
        0.022723844989269184,
        0.0007745450142783414,
    ),
    (
        1.0,
        2.053191626637759,
        1.6763848301838038,
        0.6897673349851,
        0.14810397642748008,
        0.015198666563616457,
        0.0005475938084995345,
        1.0507500716444169e-09,
    ),
)
TAIL = (
    (
        6.657904643501103,
        5.463784911164114,
        1.7848265399172913,
        0.29656057182850487,
        0.026532189526576124,
        0.0012426609473880784,
        2.7115555687434876e-05,
        2.0103343992922881e-07,
    ),
    (
        1.0,
        0.599832206555888,
        0.1369298809227358,
        0.014875361290850615,
        0.0007868691311456133,
        1.8463183175100548e-05,
        1.421511758316446e-07,
        2.0442631033899397e-15,
    ),
)
CENTER_WIDTH, CENTER_SQUARE = 0.425, 0.180625
MIDDLE_ORIGIN, TAIL_ORIGIN = 1.6, 5.0


def probit(b: FunctionBuilder, p: LLVMValue) -> LLVMValue:
    """x with P(normal variable <= x) = p, float64: infinite at 0 and 1, NaN outside."""
    q = p - 0.5
    center = CENTER_SQUARE - q * q
    central = q * b.horner(center, CENTER[0]) / b.horner(center, CENTER[1])
    is_inside = (p > 0) & (p < 1)
    side = b.select(q > 0, 1.0 - p, p)
    safe = b.select(is_inside, side, b.constant(0.5, p.type))
    root = b.call_intrinsic("sqrt", -log(b, safe))
    is_middle = root <= TAIL_ORIGIN
    middle, tail = (
        b.horner(root - origin, numerator) / b.horner(root - origin, denominator)
        for origin, (numerator, denominator) in ((MIDDLE_ORIGIN, MIDDLE), (TAIL_ORIGIN, TAIL))
    )
    outer = b.copysign(b.select(is_middle, middle, tail), q)
    result = b.select(b.fabs(q) <= CENTER_WIDTH, central, outer)
    at_end = b.select(p.eq(0), -math.inf, b.select(p.eq(1), math.inf, b.constant(math.nan, p.type)))
    return b.select(is_inside, result, at_end)
