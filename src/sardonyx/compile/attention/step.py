"""Attention as a step of a program: softmax(scale * q * k' + mask) * v, without a matrix of scores in memory."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import partial
from typing import Literal

from sardonyx.compile.attention.form import Form
from sardonyx.compile.attention.heads import KEYS, QUERIES, ROUND
from sardonyx.compile.attention.kernel import source
from sardonyx.compile.products.axes import step
from sardonyx.compile.step import Kernel, Step
from sardonyx.compile.tensor import Tensor
from sardonyx.dtypes import DataType
from sardonyx.ir.dims import Known, ceil_div, dim_min, exact_div

FLOAT = 4  # bytes
ELEMENTS: dict[DataType, Literal["float", "bool"]] = {DataType.FLOAT: "float", DataType.BOOL: "bool"}


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    y: Tensor,
    *,
    scale: float,
    mask: Tensor | None = None,
    ahead: Known | None = None,
    back: Known | None = None,
    lengths: Tensor | None = None,
    most: Known = 0,
    status: Tensor | None = None,
    softcap: float = 0.0,
    zeros: bool = False,
) -> Step:
    """The step for q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], y [B, H, S, E]; H is a multiple of G.

    Any strides, but that elements of a row of q and y are 1 apart.  mask: float, added to scores, or bool, which says
    what keys count; broadcast to [B, H, S, T], elements of a row 1 apart unless all queries share it.  Query s looks at
    keys from s + `back` up to, without it, s + `ahead`, where these are given.  lengths: int64 [B], dense; a batch has
    so many keys, back and ahead are counted from there, and `status` is told of a length that is not in 0..most.
    softcap: scores become softcap * tanh(score / softcap).  A query that no mask and no place lets look at a key is
    answered by zeros if `zeros` says so.  Other rows without anything above -inf are NaN; without any keys they are 0.
    Values of keys that no query of a panel looks at are not read.
    """
    for one in (q, y):
        assert one.strides[-1] == 1 or one.shape[-1] == 1, f"rows of {one} are not dense"
    if ahead is None and back is None:
        q, y, mask = grouped(q, y, mask, k.shape[1])
    masked = "" if mask is None else ELEMENTS[mask.dtype]
    form = Form(masked, ahead is not None, back is not None, lengths is not None, softcap != 0.0)
    form = replace(form, zeros=zeros and form.hides)
    kernel = Kernel(form.key, partial(source, form=form))
    batch, heads, queries, depth = q.shape
    keys, width = k.shape[2], v.shape[3]
    lists = () if lengths is None or status is None else (lengths, status)
    assert len(lists) == 2 or lengths is None, "a step with lengths has a status"
    group = heads if k.shape[1] == 0 else exact_div(heads, k.shape[1])
    room = dim_min(rounded(keys), KEYS)
    limits = tuple(0 if place is None else place for place in (ahead, back))
    sizes = (heads, group, queries, keys, depth, width, *limits, most, bits(scale), bits(softcap), room)
    tensors = (q, k, v, y) if mask is None else (q, k, v, y, mask)
    reads = (q, k, v, *(() if mask is None else (mask,)), *lists[:1])
    rows = rounded(depth) + rounded(width) + room + 3
    steps = strides(q, k, v, y) + (() if mask is None else masking(mask, keys))
    return Step(
        kernel,
        (*tensors, *lists, *sizes, *steps),
        units=batch * heads * ceil_div(queries, QUERIES),
        reads=reads,
        writes=(y, *lists[1:]),
        flops=batch * heads * queries * keys * (depth + width + 10) * 2,
        traffic=sum((one.bytes for one in (*reads, y)), start=0),
        scratch=rows * QUERIES * FLOAT,
    )


def grouped(q: Tensor, y: Tensor, mask: Tensor | None, groups: Known) -> tuple[Tensor, Tensor, Tensor | None]:
    """Heads of one query that share keys as queries of one head, so that keys are read once for all of them."""
    heads, queries = q.shape[1], q.shape[2]
    if queries != 1 or not isinstance(heads, int) or not isinstance(groups, int) or not 0 < groups < heads:
        return q, y, mask
    size = heads // groups

    def together(one: Tensor) -> Tensor:
        step = one.strides[1]
        strides = (one.strides[0], step * size, step, one.strides[3])
        return replace(one, shape=(one.shape[0], groups, size, one.shape[3]), strides=strides)

    if mask is None or mask.rank < 3 or mask.shape[-3] == 1:
        return together(q), together(y), mask
    if mask.shape[-3] != heads:
        return q, y, mask
    lead = (1,) * (4 - mask.rank)
    whole = replace(mask, shape=(*lead, *mask.shape), strides=(*(0 for _ in lead), *mask.strides))
    return together(q), together(y), together(whole)


def strides(q: Tensor, k: Tensor, v: Tensor, y: Tensor) -> tuple[Known, ...]:
    """In the order of `heads.SIZES`: all four of keys and values, but for the last one of queries and results."""
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
