"""Matrix products, attention and recurrent layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import (
    ALL,
    COMMON,
    Dims,
    VariantBuilder,
    int64s,
)

COLUMNS = (1, 2, 3, 4, 10, 16, 32, 48, 64)  # dot products, or one to four vectors
ROWS: tuple[Dims, ...] = ((1,), (16,), ("N",), (1, 16), ("B", "S"))
TERMS = (32, 1024)  # the sums of one block, and of several


def models() -> Iterator[Model]:
    for columns in COLUMNS:
        for rows in ROWS:
            for terms in TERMS if columns == 64 else TERMS[:1]:
                yield layers(rows, terms, columns)
    for batch in ((1, 4), ("B", 4)):
        for length in (16, "S"):
            yield attention((*batch, length, 32))
            yield batched((*batch, length, 32))
    yield recurrent()


def layers(rows: Dims, terms: int, columns: int) -> Model:
    """A linear layer with each activation, and with a residual."""
    b = VariantBuilder()

    def product(bias: bool) -> Any:
        y = b.operand(*rows, terms) @ b.weight(terms, columns)
        return y + b.weight(columns) if bias else y

    for activation in (ALL if columns >= 16 else COMMON).values():
        b.result(activation(b, product(bias=True)))
    for activation in COMMON.values():
        b.result(activation(b, product(bias=False)))
    b.result(product(bias=True) + b.operand(*rows, columns))
    b.result(product(bias=True) * b.operand(*rows, columns))
    b.result(product(bias=False) + b.operand(*rows, columns))
    b.result(product(bias=False) * b.operand(*rows, columns))
    b.result(b.operand(*rows, columns) - product(bias=False))
    b.result(product(bias=False) * np.float32(0.3))
    b.result(product(bias=False) / np.float32(0.3))
    b.result(b.operand(*rows, columns) + b.Relu(product(bias=True)))
    b.result(b.Relu(product(bias=True) + b.operand(*rows, columns)))
    x = product(bias=True)
    b.result(np.float32(0.5) * x * (b.Erf(x / np.float32(1.41421354)) + np.float32(1)))
    x = product(bias=True)
    inner = (x + np.float32(0.044715) * b.Pow(x, np.float32(3))) * np.float32(0.79788458)
    b.result(np.float32(0.5) * x * (b.Tanh(inner) + np.float32(1)))
    if len(rows) == 2:  # rows with gaps
        for activation in (COMMON[""], COMMON["Relu"], ALL["Gelu"]):
            b.result(
                activation(
                    b,
                    b.Transpose(b.operand(rows[0], terms, rows[1]), perm=[0, 2, 1])
                    @ b.weight(terms, columns),
                )
            )
            turned = b.Transpose(b.operand(rows[0], terms, rows[1]), perm=[0, 2, 1]) @ b.weight(
                terms, columns
            )
            b.result(activation(b, turned + b.weight(columns)))
            wide = b.Slice(b.operand(*rows, 2 * terms), int64s(terms), int64s(2 * terms), int64s(2))
            b.result(activation(b, wide @ b.weight(terms, columns) + b.weight(columns)))
    if len(rows) == 2:
        turned = b.Transpose(b.operand(rows[0], terms, rows[1]), perm=[0, 2, 1]) @ b.weight(terms, columns)
        b.result(turned + b.weight(columns) + b.operand(*rows, columns))
    for activation in COMMON.values():
        b.result(activation(b, product(bias=True)) * b.operand(*rows, columns))
    b.result(product(bias=False) + np.float32(0.3))
    b.result(product(bias=True) * b.weight(columns))
    b.result(b.operand(*rows, columns) + product(bias=True) * b.weight(columns))
    if len(rows) == 1:
        b.result(b.Gemm(b.operand(*rows, terms), b.weight(columns, terms), b.weight(columns), transB=1))
    return b.finish()


def attention(shape: Dims) -> Model:
    """Scores of heads, masked and scaled as exporters write them, and the operator."""
    b = VariantBuilder()
    *batch, length, _ = shape
    for scale in (1.0, 0.17677669, 1 / 8):
        for mask in ((), (*batch[:1], 1, 1, length), (*batch[:1], 1, length, length)):
            q, k, v = (b.operand(*shape) for _ in range(3))
            scores = q @ b.Transpose(k, perm=[0, 1, 3, 2])
            if scale != 1:
                scores = scores * np.float32(scale)
            if mask:
                scores = scores + b.operand(*mask)
            b.result(b.Softmax(scores, axis=-1) @ v)
    q, k, v = (b.operand(*shape) for _ in range(3))
    b.result(b.Softmax(q @ b.Transpose(k, perm=[0, 1, 3, 2]) / np.float32(5.6568542), axis=-1) @ v)
    return b.finish()


def batched(shape: Dims) -> Model:
    """Products of two computed matrices, of any orientation."""
    b = VariantBuilder()
    *batch, length, size = shape
    turned = (*batch, size, length)
    b.result(b.operand(*shape) @ b.operand(*turned))
    b.result(b.operand(*turned) @ b.operand(*shape))
    b.result(b.Transpose(b.operand(*shape), perm=[0, 1, 3, 2]) @ b.operand(*shape))
    scores = b.operand(*shape) @ b.Transpose(b.operand(*shape), perm=[0, 1, 3, 2])
    b.result(b.Softmax(scores * np.float32(0.17677669), axis=-1))
    b.result(b.operand(*shape) @ b.operand(*turned) + b.operand(*batch, length, length))
    b.result((b.operand(*shape) @ b.operand(*turned)) * np.float32(0.3))
    b.result(b.Einsum(b.operand(*shape), b.operand(*shape), equation="bhid,bhjd->bhij"))
    return b.finish()


def recurrent() -> Model:
    b, size = VariantBuilder(), 16
    for direction, count in (("forward", 1), ("bidirectional", 2)):
        for operator, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            for length, batch in ((8, 1), ("T", "N")):
                x = b.operand(length, batch, size)
                w, r = (b.weight(count, gates * size, size) for _ in range(2))
                bias = b.weight(count, 2 * gates * size)
                options: dict[str, Any] = {"hidden_size": size, "direction": direction}
                if operator == "GRU":
                    options["linear_before_reset"] = 1
                b.result(getattr(b, operator)(x, w, r, bias, outputs=1, **options))
    return b.finish()
