"""Integer division, remainder, modulo and shifts with ONNX semantics: division by zero gives 0, overflow wraps, nothing traps."""

from __future__ import annotations

from sardonyx._src.compile.codegen import FunctionBuilder, LLVMValue
from sardonyx._src.compile.codegen.math.remainder import floor_remainder, remainder


def emit_div(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a / b of integers rounded toward zero; 0 where b is 0, and the lowest integer divided by -1 wraps to itself."""
    quotient = emit_quotient(builder, a, b)
    if not a.type.is_unsigned:
        quotient = builder.select(b.eq(-1), 0 - a, quotient)
    return builder.select(b.eq(0), builder.constant(0, a.type), quotient)


def emit_quotient(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a / b, for divisions that cannot trap.

    Processors divide vectors of floats, but not of integers.  So integers of at most 32 bits are divided in float64:
    its rounding never leads to another integer.
    """
    divisor, sign = safe_divisor(builder, b), "u" if a.type.is_unsigned else "s"
    if not has_float_quotient(b):
        return builder.emit(a.type, f"{sign}div {a}, {divisor.name}")
    dividend, divisor = (x.convert(f"{sign}itofp", "double") for x in (a, divisor))
    return (dividend / divisor).convert(f"fpto{sign}i", a.type.element)


def has_float_quotient(b: LLVMValue) -> bool:
    """Whether a division by b is computed in float64; not for a constant b, where LLVM uses a product."""
    return b.type.bits <= 32 and not b.is_constant


def emit_fmod(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """C's remainder a - b * trunc(a / b), which has the sign of a; where b is 0: 0 of integers, NaN of floats."""
    if a.type.is_float:
        return remainder(builder, a, b)
    if has_float_quotient(b):
        result = a - emit_quotient(builder, a, b) * b
    else:
        opcode = "urem" if a.type.is_unsigned else "srem"
        result = builder.emit(a.type, f"{opcode} {a}, {safe_divisor(builder, b).name}")
    return builder.select(is_safe_divisor(b), result, builder.constant(0, a.type))


def emit_mod(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """Python's modulo a - b * floor(a / b), which has the sign of b; where b is 0: 0 of integers, NaN of floats."""
    if a.type.is_float:
        return floor_remainder(builder, a, b)
    result = emit_fmod(builder, a, b)
    if a.type.is_unsigned:
        return result
    has_other_sign = result.ne(0) & ((result ^ b) < 0)
    return builder.select(has_other_sign, result + b, result)


def is_safe_divisor(b: LLVMValue) -> LLVMValue:
    """Where dividing by b cannot trap: b is not 0, nor -1 if signed (lowest / -1 overflows)."""
    is_safe = b.ne(0)
    return is_safe if b.type.is_unsigned else is_safe & b.ne(-1)


def safe_divisor(builder: FunctionBuilder, b: LLVMValue) -> LLVMValue:
    """b where dividing by it cannot trap, 1 elsewhere."""
    return builder.select(is_safe_divisor(b), b, builder.constant(1, b.type))


def emit_ipow(builder: FunctionBuilder, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """a to the power b modulo 2**bits, for an unsigned b: the product of the repeated squares that the bits of b select."""
    result, square = builder.constant(1, a.type), a
    for bit in range(a.type.bits):
        is_set = (b & (1 << bit if bit < a.type.bits - 1 else -(1 << bit))).ne(0)
        result = builder.select(is_set, result * square, result)
        square = square * square
    return result


def emit_shl(builder: FunctionBuilder, a: LLVMValue, count: LLVMValue) -> LLVMValue:
    """a shifted to the left; 0 where no bit remains."""
    is_out = moves_every_bit(count)
    zero = builder.constant(0, a.type)
    return builder.select(is_out, zero, a << builder.select(is_out, zero, count))


def emit_shr(builder: FunctionBuilder, a: LLVMValue, count: LLVMValue) -> LLVMValue:
    """a shifted to the right; where no bit remains, 0 if it is unsigned, else its sign."""
    is_out = moves_every_bit(count)
    shifted = a >> builder.select(is_out, builder.constant(a.type.bits - 1, a.type), count)
    return builder.select(is_out, builder.constant(0, a.type), shifted) if a.type.is_unsigned else shifted


def moves_every_bit(count: LLVMValue) -> LLVMValue:
    """Whether a shift count is negative, or not below the number of bits."""
    is_out = count >= count.type.bits
    return is_out if count.type.is_unsigned else is_out | (count < 0)


def emit_abs(builder: FunctionBuilder, x: LLVMValue) -> LLVMValue:
    """The absolute value; the lowest integer wraps to itself."""
    return x if x.type.is_unsigned else builder.select(x < 0, 0 - x, x)
