"""Columns of encoded nodes: NumPy finds the fields of all nodes of a block together.

A node is plain if it begins with inputs, one output and perhaps a name, in this order, in ASCII and with lengths of one
byte, followed by its operator.  What follows its names, the call, stays encoded: few calls of a large graph differ.

The names of a block are cut out in one split: of the bytes of plain nodes before their calls, tags are left out, and lengths
replaced by a separator.  In these functions, k is the position of a field of each node.
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
SEPARATOR = 255  # a byte that no ASCII name has


class NodeColumns(NamedTuple):
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


def read_columns(block: bytes, begins: Positions, ends: Positions) -> NodeColumns:
    """The columns of the nodes block[begins:ends], which follow one another."""
    fields = NodeFields(np.frombuffer(block + PADDING, np.uint8), begins, ends)
    text = fields.text()
    if not fields.is_ascii(text):
        fields.refuse_names()
        text = fields.text()
    names = text.tobytes().decode("latin-1").split(chr(SEPARATOR))
    return fields.columns(names)


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
            at = k[nodes]
            has_input = (data[at] == INPUT) & (at < self.ends[nodes])
            nodes, at = nodes[has_input], at[has_input]
            if not len(nodes):
                break
            self.inputs.append((nodes, at))
            self.counts[nodes] += 1
            lengths = data[at + 1]
            self.plain[nodes] &= lengths <= MAX_LENGTH
            k[nodes] = np.minimum(at + 2 + lengths, self.ends[nodes])
        return k

    def skip(self, k: Positions, tag: int) -> Positions:
        """The positions after a field with this tag that is not empty; k for nodes without one."""
        lengths = self.data[k + 1]
        has_field = (self.data[k] == tag) & (lengths - np.uint8(1) < MAX_LENGTH)
        result: Positions = np.minimum(k + has_field * (2 + lengths.astype(np.int64)), self.ends)
        return result

    def text(self) -> NDArray[np.uint8]:
        """The names of all plain nodes, each after a separator; a node without name has the separator alone."""
        plain = self.plain
        tags = [at[plain[nodes]] for nodes, at in self.inputs]
        tags += [self.output[plain], self.name[plain & (self.name < self.call)]]
        unnamed = self.call[plain & (self.name == self.call)]
        edges = np.zeros(len(self.data), np.int8)
        edges[self.begins[plain]] = 1
        edges[self.call[plain]] -= 1
        is_text = np.cumsum(edges, dtype=np.int8).view(np.bool_)
        data = self.data.copy()
        for k in tags:
            is_text[k] = False
            data[k + 1] = SEPARATOR
        is_text[unnamed] = True
        data[unnamed] = SEPARATOR
        return data[is_text]

    def is_ascii(self, text: NDArray[np.uint8]) -> bool:
        """Whether a text has as many bytes beyond ASCII as it has separators."""
        separators = int(((self.counts + 2) * self.plain).sum())
        return int(np.count_nonzero(text > MAX_LENGTH)) == separators

    def refuse_names(self) -> None:
        """Makes the nodes with names that are not ASCII not plain."""
        positions = np.flatnonzero(self.data > MAX_LENGTH)
        nodes = np.searchsorted(self.begins, positions, "right") - 1
        is_name = (self.begins[nodes] <= positions) & (positions < self.call[nodes])
        self.plain[nodes[is_name]] = False

    def columns(self, names: list[str]) -> NodeColumns:
        """The columns; names: the pieces of the text, the first of which is empty."""
        first_names = np.cumsum(np.concatenate([[1], (self.counts + 2) * self.plain]))
        return NodeColumns(
            self.plain.tolist(),
            self.counts.tolist(),
            names,
            first_names.tolist(),
            self.call.tolist(),
            self.ends.tolist(),
        )
