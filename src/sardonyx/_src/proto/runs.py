"""Runs: consecutive encoded fields of one tag, such as the nodes of a graph, which are most of a large model.

A decoder skips the run of a field on request, for a caller that reads it without records, block by block.

In these functions, b is a buffer, p a position in it and e the end of the message that is decoded.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from sardonyx._src.errors import LimitError
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Buffer, DecodeContext, UndecodedRun, WireError, varint

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Positions: TypeAlias = "NDArray[np.int64]"

BLOCK_FIELDS = 2048  # fields that are read at once; what is made of them stays in the caches of the processor
BLOCK = 1 << 16  # bytes that are read at once; longer fields are read one by one
# Entries of fewer than MIN_NODE_BYTES on average are accepted only up to a 16th of the limit of records: a real node,
# even with an operator, an input and an output of one letter each, has 11 bytes.
SHORT_NODES_SHARE = 16
MIN_NODE_BYTES = 10
MAX_TEMPLATES = (
    1 << 12
)  # parts of fields, such as attributes and types, whose decoded form is kept for equal bytes
MAX_TEMPLATE_BYTES = 128  # encoded size of such a part
NODES_OF_GRAPH, VALUE_INFO_OF_GRAPH = 10, 106  # tags of the fields that can be skipped
NAMES = {NODES_OF_GRAPH: "nodes", VALUE_INFO_OF_GRAPH: "entries of value_info"}


def skip_run(b: Buffer, p: int, e: int, context: DecodeContext, tag: int, records: Sequence[Record]) -> int:
    """Skips the fields with this tag from p on, and returns their end; p if they must be decoded.

    records: the list to which the decoder would append them.
    Raises WireError if fields for this list were skipped before: they are not consecutive, and a run must be.
    """
    if context.undecoded is None or not context.uncounted:
        return p
    if (earlier := context.undecoded.get(tag)) is not None:
        if earlier.records is records:
            raise WireError("the fields are not in one run", p)
        return p
    start, begins, ends = p, array("q"), array("q")
    add_begin, add_end = begins.append, ends.append
    while p < e and b[p] == tag:
        n, k = b[p + 1], p + 2
        if n > 127:
            n, k = varint(b, p + 1)
        if k + n > e:
            break
        p = k + n
        add_begin(k)
        add_end(p)
    check_sizes(len(ends), p - start, context.limits.records // SHORT_NODES_SHARE, NAMES[tag])
    if p > start:
        context.undecoded[tag] = UndecodedRun(context, records, begins, ends)
    return p


def check_sizes(count: int, size: int, limit: int, name: str = "nodes") -> None:
    """Raises LimitError for more than `limit` entries with fewer than MIN_NODE_BYTES on average; size: bytes of all."""
    if count > limit and size < count * MIN_NODE_BYTES:
        what = f"more than {limit} {name} must have at least {MIN_NODE_BYTES} bytes each; got {size // count}"
        raise LimitError(what, limit="records")


class FieldBlock(NamedTuple):
    """Consecutive fields of a run: the values data[begin:end] for each position in `begins` and `ends`.

    is_long: whether this is one field that is longer than a block; `data` are then the whole data of the run.
    """

    data: Buffer
    begins: Positions
    ends: Positions
    is_long: bool = False


def read_blocks(run: UndecodedRun, size: int = BLOCK) -> Iterator[FieldBlock]:
    """The fields of a run in blocks of at most `size` bytes and `BLOCK_FIELDS` fields.

    Each has the state of the context that decoders of its values need.
    """
    context = run.context
    begins, ends = (np.frombuffer(p, np.int64) + run.base for p in (run.begins, run.ends))
    first = 0
    while first < len(begins):
        base = int(begins[first])
        last = int(np.searchsorted(ends, base + size, "right"))
        last = min(last, first + BLOCK_FIELDS)
        context.depth, context.base = run.depth, base
        if last == first:
            last = first + 1
            context.base = 0
            yield FieldBlock(context.buffer, begins[first:last], ends[first:last], is_long=True)
        else:
            data = context.buffer[base : int(ends[last - 1])]
            yield FieldBlock(data, begins[first:last] - base, ends[first:last] - base)
        first = last
