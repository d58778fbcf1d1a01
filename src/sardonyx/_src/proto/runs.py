"""Runs: consecutive encoded fields of one tag, such as the nodes of a graph, which are most of a large model.

A decoder skips the run of a field on request, for a caller that reads it without records, block by block.

In these functions, b is a buffer, p a position in it and e the end of the message that is decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sardonyx._src.errors import LimitError
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Buffer, DecodeContext, UndecodedRun, WireError, varint

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
    start, count = p, 0
    while p < e and b[p] == tag:
        n, k = b[p + 1], p + 2
        if n > 127:
            n, k = varint(b, p + 1)
        if k + n > e:
            break
        p = k + n
        count += 1
    check_sizes(count, p - start, context.limits.records // SHORT_NODES_SHARE, NAMES[tag])
    if p > start:
        context.undecoded[tag] = UndecodedRun(context, records, context.base + start, context.base + p)
    return p


def check_sizes(count: int, size: int, limit: int, name: str = "nodes") -> None:
    """Raises LimitError for more than `limit` entries with fewer than MIN_NODE_BYTES on average; size: bytes of all."""
    if count > limit and size < count * MIN_NODE_BYTES:
        what = f"more than {limit} {name} must have at least {MIN_NODE_BYTES} bytes each; got {size // count}"
        raise LimitError(what, limit="records")


class FieldReader(Protocol):
    """Reads the fields of a run."""

    def read_block(self, b: bytes) -> int:
        """Reads the fields at the beginning of a block, and returns the end of the last complete one."""

    def read_long(self, b: Buffer, p: int, e: int) -> None:
        """Reads the value b[p:e] of a field that is longer than a block."""


def read_run(run: UndecodedRun, reader: FieldReader) -> None:
    """Reads all fields of a run; raises WireError or IndexError for fields that do not decode."""
    context = run.context
    p = run.start
    while p < run.end:
        context.base, context.depth = p, run.depth
        size = reader.read_block(context.buffer[p : min(run.end, p + BLOCK)])
        if not size:
            context.base = 0
            n, k = varint(context.buffer, p + 1)
            reader.read_long(context.buffer, k, k + n)
            size = k + n - p
        p += size
