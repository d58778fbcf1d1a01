"""What a division of floats leaves over, exactly: in double, where a quotient of less than 2^28 loses nothing."""

from __future__ import annotations

from sardonyx._src.compile.text import Code, Value

STEP = 28  # bits of a quotient that are taken off at a time: with the 24 of b they fit into a double
FURTHEST = 280  # bits that a quotient of floats can have


def remainder(code: Code, a: Value, b: Value) -> Value:
    """a - b * (a / b rounded toward zero), floats: has the sign of a; NaN where b is 0 or a infinite."""
    wide, size = (x.converted("fpext", "double") for x in (a, b))
    wide, size = code.absolute(wide), code.absolute(size)
    near = reduced(code, wide, size)

    def far() -> Value:
        rest = wide
        for bits in range(FURTHEST - STEP, -1, -STEP):
            rest = reduced(code, rest, size * 2.0**bits)
        return rest

    is_far = (wide >= size * 2.0**STEP) & (wide < float("inf"))
    found = code.if_any(is_far, far, near).converted("fptrunc", "float")
    endless = code.absolute(b).equals(float("inf")) & (code.absolute(a) < float("inf"))
    found = code.select(endless, a, found)
    return code.with_sign(found, a)


def reduced(code: Code, a: Value, b: Value) -> Value:
    """What a quotient of less than 2^28 leaves over of a, neither of both below 0; more than that stays as good as it was."""
    whole = code.intrinsic("floor", a / b)
    rest = a - whole * b
    rest = code.select(rest < 0, rest + b, rest)  # as the quotient was rounded up to the next number
    return code.select(a < b, a, rest)


def floored(code: Code, a: Value, b: Value) -> Value:
    """What is left over of a division that rounds down, floats: has the sign of b."""
    found = remainder(code, a, b)
    is_beyond = found.differs(0) & ((found < 0) ^ (b < 0))
    found = code.select(is_beyond, found + b, found)
    return code.select(found.equals(0), code.with_sign(found, b), found)
