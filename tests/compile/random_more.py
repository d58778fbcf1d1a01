"""Further operators, chosen by chance: recurrences, quantised values, and values made of sizes."""

from __future__ import annotations

import numpy as np

from compile.random_graphs import I64, F, Growing, Made
from compile.random_moves import Move

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrence(g: Growing) -> object:
    """Of finite numbers that are not large: gates round what is far away to one."""
    x = g.pick(
        lambda m: (
            m.rank == 3 and m.fixed[2] and m.shape[2] > 0 and all(np.isfinite(a).all() for a in m.arrays)
        )
    )
    if x is None:
        return None
    op_type = g.word(*GATES)
    size, ways = g.one((1, 3, 8, 17)), 1 + g.coin(0.3)
    rows = GATES[op_type] * size
    weights = [g.constant(g.normal((ways, rows, n)) * 0.3) for n in (x.shape[2], size)]
    bias = [g.constant(g.normal((ways, 2 * rows)) * 0.3)] if g.coin() else []
    direction = "bidirectional" if ways == 2 else g.word("forward", "reverse")
    how: dict[str, object] = {"hidden_size": size, "direction": direction}
    if op_type == "GRU":
        how["linear_before_reset"] = int(g.coin())
    return g.op(op_type, x, *weights, *bias, outputs=3 if op_type == "LSTM" else 2, how=how)


def quantised(g: Growing) -> object:
    """To integers of eight bits and back."""
    x = g.pick(lambda m: m.is_exact)
    if x is None:
        return None
    axis = g.up_to(x.rank - 1) if x.rank and g.coin(0.4) else None
    count = [] if axis is None or not x.fixed[axis] else [x.shape[axis]]
    scale = g.constant(2.0 ** g.chance.integers(-4, 1, count))  # of which quotients are exact
    dtype = np.uint8 if g.coin() else np.int8
    zero = g.constant(g.chance.integers(0, 9, count), dtype)
    how = {} if axis is None else {"axis": axis}
    there = g.op("QuantizeLinear", x, scale, zero, exact=True, how=how)
    if there is None or g.coin(0.1):
        return there
    return g.op("DequantizeLinear", there[0], scale, zero, exact=True, how=how)


def integer_product(g: Growing) -> object:
    """Values of eight bits times weights of eight bits: a matrix product or a convolution, to floats."""
    x = g.pick(lambda m: m.is_exact and m.rank > 1 and m.fixed[-1] and m.fixed[1])
    if x is None:
        return None
    dtype, weight_type = (np.uint8 if g.coin() else np.int8 for _ in range(2))
    zero = g.constant(g.up_to(9), dtype)
    there = g.op("QuantizeLinear", x, g.constant(0.25), zero, exact=True)
    if there is None:
        return None
    if x.rank == 4 and g.coin():
        kernel = (g.one((1, 2, 3)), g.one((1, 3)))
        weights = g.constant(g.chance.integers(0, 100, (g.one((1, 4, 9)), x.shape[1], *kernel)), weight_type)
        made = g.op("ConvInteger", there[0], weights, zero, exact=True, pads=[1, 0, 0, 1])
    else:
        n = g.one((1, 5, 16, 33))
        weights = g.constant(g.chance.integers(0, 100, (x.shape[-1], n)), weight_type)
        zeros = g.constant(g.chance.integers(0, 9, [n] if g.coin(0.3) else []), weight_type)
        made = g.op("MatMulInteger", there[0], weights, zero, zeros, exact=True)
    return made and g.op("Cast", made[0], to=F, exact=True)


def products_of(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    if x is None:
        return None
    axis = g.up_to(x.rank - 1)
    if g.coin():
        return g.op("ReduceProd", x, g.ints(axis), keepdims=int(g.coin()))
    how = {"exclusive": int(g.coin(0.3)), "reverse": int(g.coin(0.3))}
    return g.op("CumSum", x, g.constant(axis, np.int64), how=how)


def logarithms_of(g: Growing) -> object:
    x = g.pick(lambda m: m.rank > 0)
    above = x and g.op("Abs", x, exact=True)
    return above and g.op(
        "ReduceLogSum", above[0], g.ints(g.up_to(above[0].rank - 1)), keepdims=int(g.coin())
    )


def filled(g: Growing) -> object:
    """A tensor in the dims of another one."""
    x = g.pick()
    shape = x and g.op("Shape", x, exact=True)
    return shape and g.op("ConstantOfShape", shape[0], exact=True, value=np.array([0.5], np.float32))


def counted(g: Growing) -> object:
    """Numbers up to a size."""
    n = g.pick(lambda m: m.rank == 0 and all(0 <= int(a) < 500 for a in m.arrays), I64)
    if n is None:
        x = g.pick(lambda m: all(a.size < 500 for a in m.arrays))
        found = x and g.op("Size", x, exact=True)
        if not found:
            return None
        n = found[0]
    made = g.op("Range", g.constant(0, np.int64), n, g.constant(g.one((1, 2, 3)), np.int64), exact=True)
    return made and g.op("Cast", made[0], to=F, exact=True)


def turned(g: Growing) -> object:
    """Rotary positions; heads of an even size, positions the same for all feeds."""
    x = g.pick(lambda m: m.rank == 4 and m.fixed[3] and m.fixed[2] and m.fixed[0] and m.shape[3] % 2 == 0)
    if x is None or not all(x.shape):
        return None
    half = x.shape[3] // 2
    caches = [g.constant(np.clip(g.normal((x.shape[0], x.shape[2], half)), -1, 1)) for _ in range(2)]
    return g.op("RotaryEmbedding", x, *caches, interleaved=int(g.coin()))


def masked(g: Growing) -> object:
    """Attention of heads with a mask that is added."""
    x = g.pick(is_four_finite)
    if x is None:
        return None
    queries, keys = x.shape[2], x.shape[2]
    mask = g.constant(g.normal((g.one((1, queries)), keys)))
    return g.op("Attention", x, x, x, mask, is_causal=int(g.coin(0.3)), softcap=float(g.one((0, 0, 5))))


def is_four_finite(made: Made) -> bool:
    fits = made.rank == 4 and made.fixed[2] and made.fixed[3] and made.shape[3] > 0 and made.shape[2] > 0
    return fits and all(bool(np.isfinite(a).all()) for a in made.arrays)


MORE: tuple[Move, ...] = (
    recurrence, recurrence,
    quantised, integer_product, products_of, logarithms_of, filled, counted, turned, masked,
)  # fmt: skip
