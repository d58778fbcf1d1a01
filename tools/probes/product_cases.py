"""Cases of products, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from probes.case_builder import QUARTER, CaseBuilder, KernelCase, pattern

COLUMNS = (1, 10, 64)  # a dot product, and tiles of one and of four vectors


def cases() -> Iterator[KernelCase]:
    """Of rows that no tile divides."""
    for columns in COLUMNS:
        b = CaseBuilder()
        yield b.case(f"product, {columns} columns", b.feed(9, 33) @ pattern(33, columns))
    b = CaseBuilder()
    y = b.feed(9, 33) @ pattern(33, 10) + pattern(10, low=1)
    yield b.case("product with bias", b.Relu(y))
    b = CaseBuilder()
    turned = b.Transpose(b.feed(2, 33, 9), perm=[0, 2, 1])
    yield b.case("product of columns", turned @ pattern(33, 10))
    yield from byte_products()
    yield from computed_products()
    yield from block_products()
    yield from attention()
    yield from recurrent()


def byte_products() -> Iterator[KernelCase]:
    """Of bytes of all values: sums of few terms exceed 16 bits."""
    for dtype, low, high in (("uint8", 0, 255), ("int8", -128, 127)):
        b = CaseBuilder()
        x = b.feed(18, 64, dtype=dtype, low=low, high=high)  # in tiles where the class has them
        y = b.MatMulInteger(x, pattern(64, 10, dtype="int8", low=-128, high=127))
        yield b.case(f"product of {dtype}", y)


def computed_products() -> Iterator[KernelCase]:
    b = CaseBuilder()
    yield b.case("product of computed matrices", b.feed(2, 5, 20) @ b.feed(2, 20, 64))
    b = CaseBuilder()
    yield b.case("product of a vector", b.feed(1, 40) @ b.feed(40, 37))
    b = CaseBuilder()
    yield b.case("product of float64", b.feed(5, 20, dtype="float64") @ pattern(20, 11, dtype="float64"))
    b = CaseBuilder()
    yield b.case("product of float16", b.feed(5, 20, dtype="float16") @ pattern(20, 11, dtype="float16"))


def block_products() -> Iterator[KernelCase]:
    """With weights of 4 bits, which rows of int8 multiply; fewer weights would be multiplied as floats."""
    b, columns, blocks = CaseBuilder(), 512, 8
    y: Any = b.op(
        "MatMulNBits",
        b.feed(3, 256),
        pattern(columns, blocks, 16, dtype="uint8", low=0, high=255),
        pattern(columns * blocks, low=1, scale=QUARTER),
        domain="com.microsoft",
        K=256,
        N=columns,
        bits=4,
        block_size=32,
        accuracy_level=4,
    )
    yield b.case("product of 4-bit weights", y, tolerance=1.0)


def attention() -> Iterator[KernelCase]:
    """Of one query, for which units have heads, and of more."""
    b, outputs = CaseBuilder(), []
    for queries, keys in ((5, 5), (1, 19)):
        q, k, v = (b.feed(1, 2, n, 8, scale=QUARTER) for n in (queries, keys, keys))
        outputs.append(b.Attention(q, k, v, b.feed(queries, keys, low=-3, high=0)))
    yield b.case("attention", *outputs)
    for has_mask in (False, True):  # more than a unit has
        b = CaseBuilder()
        q, k, v = (b.feed(1, 2, n, 8, scale=QUARTER) for n in (1, 520, 520))
        mask = (b.feed(1, 520, low=-3, high=0),) if has_mask else ()
        yield b.case(f"attention of many keys{', masked' * has_mask}", b.Attention(q, k, v, *mask))


def recurrent() -> Iterator[KernelCase]:
    options: dict[str, Any] = {"hidden_size": 11, "outputs": 1}
    for operator, gates, further in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1})):
        b = CaseBuilder()
        w, r = pattern(1, gates * 11, 5, scale=1 / 16), pattern(1, gates * 11, 11, scale=1 / 32)
        bias = pattern(1, 22 * gates, scale=1 / 16)
        yield b.case(operator, getattr(b, operator)(b.feed(3, 2, 5), w, r, bias, **options, **further))
