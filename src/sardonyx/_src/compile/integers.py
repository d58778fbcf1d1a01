"""Operations on integers that no instruction does as they are meant: none of them traps."""

from __future__ import annotations

from sardonyx._src.compile.math.remainder import floored, remainder
from sardonyx._src.compile.text import Code, Value


def divided(code: Code, a: Value, b: Value) -> Value:
    """a / b rounded toward zero; 0 where b is 0, and the least integer divided by -1 wraps around to itself."""
    quotient = code.emit(a.kind, f"{'u' if a.kind.is_unsigned else 's'}div {a}, {divisor(code, b).name}")
    if not a.kind.is_unsigned:
        quotient = code.select(b.equals(-1), 0 - a, quotient)
    return code.select(b.equals(0), code.constant(0, a.kind), quotient)


def left_over(code: Code, a: Value, b: Value) -> Value:
    """a - b * (a / b): has the sign of a; 0 where b is 0, or NaN of floats."""
    if a.kind.is_float:
        return remainder(code, a, b)
    found = code.emit(a.kind, f"{'u' if a.kind.is_unsigned else 's'}rem {a}, {divisor(code, b).name}")
    return code.select(divisor_is_safe(b), found, code.constant(0, a.kind))


def modulo(code: Code, a: Value, b: Value) -> Value:
    """What is left over of a division that rounds down: has the sign of b; 0 where b is 0, or NaN of floats."""
    if a.kind.is_float:
        return floored(code, a, b)
    found = left_over(code, a, b)
    if a.kind.is_unsigned:
        return found
    is_beyond = found.differs(0) & ((found ^ b) < 0)
    return code.select(is_beyond, found + b, found)


def divisor_is_safe(b: Value) -> Value:
    """Where dividing by b cannot trap."""
    is_safe = b.differs(0)
    return is_safe if b.kind.is_unsigned else is_safe & b.differs(-1)


def divisor(code: Code, b: Value) -> Value:
    """b where dividing by it cannot trap, 1 elsewhere."""
    return code.select(divisor_is_safe(b), b, code.constant(1, b.kind))


def absolute(code: Code, x: Value) -> Value:
    """The size; the least integer is its own."""
    return x if x.kind.is_unsigned else code.select(x < 0, 0 - x, x)
