"""Attention as a step of a program: softmax(scale * q * k' + mask) * v, without a matrix of scores in memory."""

from __future__ import annotations

import struct
from functools import partial

from sardonyx.compile.attention.heads import KEYS, QUERIES, ROUND
from sardonyx.compile.attention.kernel import source
from sardonyx.compile.products.axes import step
from sardonyx.compile.step import Kernel, Step
from sardonyx.compile.tensor import Tensor
from sardonyx.ir.dims import Known, ceil_div, dim_min, exact_div

FLOAT = 4  # bytes


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    y: Tensor,
    *,
    scale: float,
    mask: Tensor | None = None,
    causal: bool = False,
    past: Known = 0,
) -> Step:
    """The step for q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], y [B, H, S, E]; H is a multiple of G.

    Any strides, but that elements of a row of q and y are 1 apart.  mask: added to scores, broadcast to
    [B, H, S, T], elements of a row 1 apart unless all queries share it.  causal: query s looks at keys up to
    `past` + s.  Values of keys that no query of a panel looks at are not read.  Rows without any key above -inf are NaN;
    without any keys they are 0.
    """
    for one in (q, y):
        assert one.strides[-1] == 1 or one.shape[-1] == 1, f"rows of {one} are not dense"
    key = f"attention_f32{'_mask' if mask else ''}{'_causal' if causal else ''}"
    kernel = Kernel(key, partial(source, masked=mask is not None, causal=causal))
    batch, heads, queries, depth = q.shape
    keys, width = k.shape[2], v.shape[3]
    tensors = (q, k, v, y) if mask is None else (q, k, v, y, mask)
    group = heads if k.shape[1] == 0 else exact_div(heads, k.shape[1])
    room = dim_min(rounded(keys), KEYS)
    sizes = (heads, group, queries, keys, depth, width, past, bits(scale), room)
    reads = tuple(one for one in tensors if one is not y)
    rows = rounded(depth) + rounded(width) + room + 3
    work = batch * heads * queries * keys
    return Step(
        kernel,
        (*tensors, *sizes, *steps(q, k, v, y), *(() if mask is None else masking(mask, keys))),
        units=batch * heads * ceil_div(queries, QUERIES),
        reads=reads,
        writes=(y,),
        flops=work * (depth + width + 10) * 2,
        traffic=sum((one.bytes for one in (*reads, y)), start=0),
        scratch=rows * QUERIES * FLOAT,
    )


def steps(q: Tensor, k: Tensor, v: Tensor, y: Tensor) -> tuple[Known, ...]:
    """Strides in the order of `heads.SIZES`: all four of keys and values, but for the last one of queries and results."""
    return (*q.strides[:3], *k.strides, *v.strides, *y.strides[:3])


def masking(mask: Tensor, keys: Known) -> tuple[Known, ...]:
    """The strides of a mask, 0 where it is broadcast."""
    found = tuple(step(mask, place) for place in (4, 3, 2, 1))
    assert found[3] == 1 or found[2] == 0 or keys == 1, f"rows of {mask} are not dense"
    return found


def rounded(size: Known) -> Known:
    return ceil_div(size, ROUND) * ROUND


def bits(number: float) -> int:
    """A number as the bits of a float."""
    found: int = struct.unpack("<i", struct.pack("<f", number))[0]
    return found
