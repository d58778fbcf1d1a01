"""Columns of encoded nodes: NumPy finds the fields of all nodes of a block together.

A node is plain if it begins with inputs, one output and perhaps a name, in this order, in ASCII and with lengths of one
byte, followed by its operator.  What follows its names, the call, stays encoded: few calls of a large graph differ.

The names of a block are cut out in one split: the tags and lengths before them are replaced by a separator, which is not
ASCII.  In these functions, k is the position of a field of each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Positions: TypeAlias = "NDArray[np.int64]"

INPUT, OUTPUT, NAME, OP_TYPE = 10, 18, 26, 34  # tags of the fields of a node
MAX_LENGTH = 127  # the longest field whose length takes one byte
MAX_INPUTS = 64  # of a plain node; each more is another round over the columns of a block
PADDING = bytes(2)  # so that the tag and length at the end of a block can be read
SEPARATOR = b"\xff\xff"  # takes the places of a tag and a length


class EncodedColumns(NamedTuple):
    """The fields of the nodes of a block by node; those of nodes that are not plain have no meaning.

    counts: the number of inputs.
    names: those of all plain nodes: for each the names of its inputs, its output and the node itself, "" for no name.
    first_names: the index in `names` of the first name of each node, and that after the last name.
    calls, ends: the range of the call of each node in the block.
    """

    plain: Sequence[bool]
    counts: Sequence[int]
    names: Sequence[str]
    first_names: Sequence[int]
    calls: Sequence[int]
    ends: Sequence[int]


def read_columns(block: bytes, begins: Positions, ends: Positions) -> EncodedColumns:
    """The columns of the nodes block[begins:ends], which follow one another."""
    fields = NodeFields(np.frombuffer(block + PADDING, np.uint8), begins, ends)
    text = fields.text(block)
    if not fields.is_ascii(text):
        fields.refuse_names()
        text = fields.text(block)
    separator = SEPARATOR.decode("latin-1")
    return fields.columns(text.decode("latin-1").split(separator))


class NodeFields:
    """The positions of the fields of the nodes of a block.

    inputs: for each slot, the nodes with this input and its positions.
    output, name, call: the positions of the output, of what follows it, and of the call.
    """

    def __init__(self, data: NDArray[np.uint8], begins: Positions, ends: Positions) -> None:
        self.data, self.begins, self.ends = data, begins, ends
        self.plain = np.ones(len(begins), np.bool_)
        self.counts = np.zeros(len(begins), np.int64)
        self.inputs: list[tuple[Positions, Positions]] = []
        self.output = self.skip_inputs()
        self.name = self.skip(self.output, OUTPUT)
        self.plain &= self.name > self.output
        self.call = self.skip(self.name, NAME)
        self.plain &= (data[self.call] == OP_TYPE) & (self.call + 1 < ends)

    def skip_inputs(self) -> Positions:
        """The positions after all inputs."""
        data, k = self.data, self.begins.copy()
        nodes = np.arange(len(k))
        for _ in range(MAX_INPUTS):
            tags = k[nodes]
            has_input = (data[tags] == INPUT) & (tags < self.ends[nodes])
            nodes, tags = nodes[has_input], tags[has_input]
            if not len(nodes):
                break
            self.inputs.append((nodes, tags))
            self.counts[nodes] += 1
            lengths = data[tags + 1]
            self.plain[nodes] &= lengths <= MAX_LENGTH
            k[nodes] = np.minimum(tags + 2 + lengths, self.ends[nodes])
        return k

    def skip(self, k: Positions, tag: int) -> Positions:
        """The positions after a field with this tag that is not empty; k for nodes without one."""
        lengths = self.data[k + 1]
        has_field = (self.data[k] == tag) & (lengths - np.uint8(1) < MAX_LENGTH)
        result: Positions = np.minimum(k + has_field * (2 + lengths.astype(np.int64)), self.ends)
        return result

    def text(self, block: bytes) -> bytes:
        """The names of all plain nodes, each after a separator; for a node without name, the separator alone."""
        plain, begins = self.plain, self.begins
        stops = np.where(self.name < self.call, self.call, self.call + len(SEPARATOR))
        ranges = zip(begins[plain].tolist(), stops[plain].tolist(), strict=True)
        text = bytearray(b"".join([block[p:q] for p, q in ranges]))
        sizes = (stops - begins) * plain
        shifts = np.cumsum(sizes) - sizes - begins  # from positions in the block to those in the text
        marks = [(tags + shifts[nodes])[plain[nodes]] for nodes, tags in self.inputs]
        marks += [(self.output + shifts)[plain], (self.name + shifts)[plain]]
        k, data = np.concatenate(marks), np.frombuffer(text, np.uint8)
        data[k] = data[k + 1] = SEPARATOR[0]
        return bytes(text)

    def is_ascii(self, text: bytes) -> bool:
        """Whether the bytes beyond ASCII of a text are those of its separators."""
        separators = int(((self.counts + 2) * self.plain).sum())
        others = np.count_nonzero(np.frombuffer(text, np.uint8) > MAX_LENGTH)
        return int(others) == separators * len(SEPARATOR)

    def refuse_names(self) -> None:
        """Makes the nodes with names that are not ASCII not plain."""
        positions = np.flatnonzero(self.data > MAX_LENGTH)
        nodes = np.searchsorted(self.begins, positions, "right") - 1
        is_name = (self.begins[nodes] <= positions) & (positions < self.call[nodes])
        self.plain[nodes[is_name]] = False

    def columns(self, names: list[str]) -> EncodedColumns:
        """The columns; names: the pieces of the text, the first of which is empty."""
        first_names = np.cumsum(np.concatenate([[1], (self.counts + 2) * self.plain]))
        return EncodedColumns(
            self.plain.tolist(),
            self.counts.tolist(),
            names,
            first_names.tolist(),
            self.call.tolist(),
            self.ends.tolist(),
        )
