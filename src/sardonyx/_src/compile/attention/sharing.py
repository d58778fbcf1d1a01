"""Which heads, and how many of the keys, a unit of attention has."""

from __future__ import annotations

from dataclasses import dataclass

from sardonyx._src.compile.attention.heads import CHUNK, TOGETHER
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_min, exact_div

MOST = 8  # queries of a head that are sooner done beside one another than as a panel
STRETCH = 1024  # floats of a row of keys, of several heads, that come as fast as a row of them all
MOST_HEADS = 16  # of keys that a unit has


@dataclass(frozen=True, slots=True)
class Sharing:
    """Numbers for `heads.SIZES`: groups of heads that share keys, heads of a group, and what a unit of few queries has."""

    groups: Known
    group: Known
    few: Known = 0
    together: Known = 1
    beside: Known = 1
    chunks: Known = 1

    @property
    def words(self) -> tuple[Known, ...]:
        return self.few, self.together, self.beside, self.chunks


def sharing(q: Tensor, k: Tensor, v: Tensor, *, is_one_apart: bool) -> Sharing:
    """For q [B, H, S, D], k [B, G, T, D], v [B, G, T, E]; is_one_apart: whether that is so of elements of a mask's rows.

    What is known late decides late: whether there are few queries is a number, 0 or 1, by which the others are chosen.
    """
    heads, queries, groups, keys = q.shape[1], q.shape[2], k.shape[1], k.shape[2]
    group: Known = 1 if groups == heads or groups == 0 else exact_div(heads, groups)
    if not is_one_apart or k.strides[3] != 1 or v.strides[3] != 1:
        return Sharing(groups, group)
    few = dim_min(1, MOST // dim_max(queries, 1))
    return Sharing(
        groups,
        group,
        few,
        chosen(few, dim_min(group, TOGETHER // dim_max(queries, 1))),
        chosen(few, side_by_side(k, v, groups)),
        chosen(few, dim_max(ceil_div(keys, CHUNK), 1)),
    )


def side_by_side(k: Tensor, v: Tensor, groups: Known) -> Known:
    """How many heads of keys and values a unit has: several where they stand beside one another."""
    least = MOST_HEADS
    for one in (k, v):
        size = one.shape[3]
        if not isinstance(size, int) or one.strides[1] != size or one.strides[2] == size:
            return 1
        least = min(least, -(-STRETCH // max(size, 1)))
    return dim_min(groups, least) if groups != 0 else 1


def chosen(few: Known, count: Known) -> Known:
    """The count where there are few queries, otherwise 1."""
    return 1 + few * (count - 1)
