"""Attention as a step of a program: softmax(scale * q * k' + mask) * v, without a matrix of scores in memory."""

from __future__ import annotations

import struct
from dataclasses import replace
from functools import partial
from typing import Literal

from sardonyx._src.compile.attention.form import Form
from sardonyx._src.compile.attention.heads import AHEAD, KEYS, QUERIES, ROUND, TOGETHER
from sardonyx._src.compile.attention.joining import joined
from sardonyx._src.compile.attention.kernel import source
from sardonyx._src.compile.attention.scores import PRODUCTS
from sardonyx._src.compile.attention.scores import source as scores_source
from sardonyx._src.compile.attention.sharing import Sharing, sharing
from sardonyx._src.compile.attention.tiles import PART
from sardonyx._src.compile.products.axes import step
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor, bytes_of, product, row_major
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_min

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
    scores: Tensor | None = None,
    stage: int = PRODUCTS,
) -> tuple[Step, ...]:
    """The steps for q [B, H, S, D], k [B, G, T, D], v [B, G, T, E], y [B, H, S, E]; H is a multiple of G.

    Any strides, but that elements of a row of q and y are 1 apart.  mask: float, added to scores, or bool, which says
    what keys count; broadcast to [B, H, S, T], elements of a row 1 apart unless all queries share it.  Query s looks at
    keys from s + `back` up to, without it, s + `ahead`, where these are given.  lengths: int64 [B], dense; a batch has
    so many keys, back and ahead are counted from there, and `status` is told of a length that is not in 0..most.
    softcap: scores become softcap * tanh(score / softcap).  A query that no mask and no place lets look at a key is
    answered by zeros if `zeros` says so.  Other rows without anything above -inf are NaN; without any keys they are 0.
    Values of keys that no query of a panel looks at are not read.

    scores: [B, H, S, most] for the scores in a stage of `scores`, of all keys: k goes on behind those that are looked at.
    """
    for one in (q, y):
        assert one.strides[-1] == 1 or one.shape[-1] == 1, f"rows of {one} are not dense"
    masked = "" if mask is None else ELEMENTS[mask.dtype]
    form = Form(masked, ahead is not None, back is not None, lengths is not None, softcap != 0.0)
    form = replace(form, zeros=zeros and form.hides)
    kernel = Kernel(form.key, partial(source, form=form))
    batch, heads, queries, depth = q.shape
    keys, width = k.shape[2], v.shape[3]
    lists = () if lengths is None or status is None else (lengths, status)
    assert len(lists) == 2 or lengths is None, "a step with lengths has a status"
    behind = () if mask is None else masking(mask, keys)
    shares = sharing(q, k, v, is_one_apart=mask is None or behind[-1] == 1)
    groups, group = shares.groups, shares.group
    parts = parted(y, shares.chunks)
    limits = tuple(0 if place is None else place for place in (ahead, back))
    sizes = (groups, group, queries, keys, depth, width, *limits, most, bits(scale), bits(softcap))

    def args(result: Tensor, shares: Sharing) -> tuple[Arg, ...]:
        tensors = (q, k, v, result) if mask is None else (q, k, v, result, mask)
        return *tensors, parts, *lists, *sizes, *shares.words, *strides(q, k, v, result), *behind

    reads = (q, k, v, *(() if mask is None else (mask,)), *lists[:1])
    units = ceil_div(groups, shares.beside) * ceil_div(group, shares.together) * shares.chunks
    found = [
        Step(
            kernel,
            args(y, shares),
            units=batch * units * ceil_div(queries, QUERIES),
            reads=reads,
            writes=(y, parts, *lists[1:]),
            flops=batch * heads * queries * keys * (depth + width + 10) * 2,
            traffic=sum((one.bytes for one in (*reads, y)), start=0),
            scratch=scratch(shares, rounded(depth), rounded(width), keys) * FLOAT,
        )
    ]
    if shares.chunks != 1:
        found.append(joined(parts, y, zeros=form.zeros))
    if scores is not None:
        found.append(scored(form, args(scores, Sharing(groups, group)), stage, (*reads, scores, *lists[1:])))
    return tuple(found)


def scored(form: Form, args: tuple[Arg, ...], stage: int, tensors: tuple[Tensor, ...]) -> Step:
    """The step for the scores alone; tensors: all that it touches."""
    made = next(one for one in tensors if one is args[3])
    depth = tensors[0].shape[3]
    return Step(
        Kernel(f"{form.key}_scores{stage}", partial(scores_source, form=form, stage=stage)),
        args,
        units=product(made.shape[:3]),
        reads=tensors[: tensors.index(made)],
        writes=tensors[tensors.index(made) :],
        flops=made.count * (depth + 5) * 2,
        traffic=made.bytes,
        scratch=rounded(depth) * FLOAT,
    )


def parted(y: Tensor, chunks: Known) -> Tensor:
    """Memory for what units make of a chunk of the keys; none where they have all of them."""
    shape = (*y.shape[:3], chunks, rounded(y.shape[3]) + AHEAD)
    if chunks == 1:
        shape = (0, *shape[1:])
    storage = Storage("arena", bytes_of(DataType.FLOAT, shape), f"{y.storage.name}.parts")
    return Tensor(DataType.FLOAT, shape, row_major(shape), storage)


def scratch(shares: Sharing, depth: Known, width: Known, keys: Known) -> Known:
    """How many floats a unit needs, of panels or of few queries."""
    panel = (depth + width + dim_min(rounded(keys), KEYS) + 3) * QUERIES
    few = shares.beside * TOGETHER * (depth + width + 2 * ROUND + PART)
    return dim_max(panel, few)


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
