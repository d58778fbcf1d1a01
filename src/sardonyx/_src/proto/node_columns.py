"""Columns of encoded nodes: NumPy finds the fields of all nodes of a block together, a column for each field.

A node is plain if it begins with inputs, one output and perhaps a name, in this order, in ASCII and with lengths of one
byte, followed by its operator.  What follows its names, the call, stays encoded: few calls of a large graph differ.

The names are cut out of the block in one split: the tag and the length before each name are replaced by a separator, and
all bytes outside of names by zeros.  In these functions, k is the position of a field of each node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Positions: TypeAlias = "NDArray[np.int64]"
    Flags: TypeAlias = "NDArray[np.bool_]"

CallT = TypeVar("CallT")
INPUT, OUTPUT, NAME, OP_TYPE = 10, 18, 26, 34  # tags of the fields of a node
MAX_LENGTH = 127  # the longest field whose length takes one byte
MAX_INPUTS = 64  # of a plain node; each more is another round over the columns of a block
PADDING = bytes(2)  # so that the tag and length at the end of a block can be read
SEPARATOR = 255  # a byte that no ASCII name has


class NodeColumns(NamedTuple):
    """The fields of the nodes of a block by node; entries of nodes that are not plain have no meaning.

    counts: the number of inputs.
    first, second, others: the names of the first input, of the second, and of all others; "" or () beyond the last one.
    outputs, names: "" if a node has no name.
    calls: the encoded fields after the names.
    """

    plain: Sequence[bool]
    counts: Sequence[int]
    first: Sequence[str]
    second: Sequence[str]
    others: Sequence[Sequence[str]]
    outputs: Sequence[str]
    names: Sequence[str]
    calls: Sequence[bytes]

    def rows(
        self, start: int, stop: int, calls: Sequence[CallT]
    ) -> Iterator[tuple[int, str, str, Sequence[str], str, str, CallT]]:
        """The columns of names from `start` up to `stop` by node, each with its decoded call."""
        columns = self.counts, self.first, self.second, self.others, self.outputs, self.names
        return zip(*[column[start:stop] for column in columns], calls, strict=True)


def read_columns(block: bytes, begins: Positions, ends: Positions) -> NodeColumns:
    """The columns of the nodes block[begins:ends], which follow one another."""
    data = np.frombuffer(block + PADDING, np.uint8)
    fields = NodeFields(data, begins, ends)
    text = data[:-2] * fields.is_name()
    if (text > MAX_LENGTH).any():
        fields.refuse(np.flatnonzero(text > MAX_LENGTH))
        text = data[:-2] * fields.is_name()
    marks = fields.marks()
    text[marks] = text[marks + 1] = SEPARATOR
    pieces = np.array(text.tobytes().decode("latin-1").split("\xff\xff"), object)
    return fields.columns(pieces, block)


class NodeFields:
    """The positions of the fields of the nodes of a block."""

    def __init__(self, data: NDArray[np.uint8], begins: Positions, ends: Positions) -> None:
        self.data, self.begins, self.ends = data, begins, ends
        self.plain = np.ones(len(begins), np.bool_)
        self.counts = np.zeros(len(begins), np.int64)
        self.inputs: list[tuple[Positions, Positions]] = []  # nodes and the positions of their next inputs
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

    def is_name(self) -> NDArray[np.uint8]:
        """1 for the bytes of the block from the first name of a plain node up to its call, else 0."""
        edges = np.zeros(len(self.data) - 2, np.int8)
        edges[self.begins[self.plain]] = 1
        edges[self.call[self.plain]] -= 1
        return np.cumsum(edges, dtype=np.int8).view(np.uint8)

    def refuse(self, positions: Positions) -> None:
        """Makes the nodes with these positions not plain."""
        self.plain[np.searchsorted(self.begins, positions, "right") - 1] = False

    def marks(self) -> Positions:
        """The positions of the names of all plain nodes, and of what follows the last one of each."""
        plain, name, call = self.plain, self.name, self.call
        inputs = [at[plain[nodes]] for nodes, at in self.inputs]
        return np.concatenate([*inputs, self.output[plain], name[plain & (name < call)], call[plain]])

    def columns(self, pieces: NDArray[np.object_], block: bytes) -> NodeColumns:
        """The columns.  pieces: the names between the marks; that before the first mark and those of calls are no names."""
        has_name = self.name < self.call
        ends = np.cumsum((self.counts + 2 + has_name) * self.plain)
        output = ends - 1 - has_name
        first = output - self.counts
        pieces[0] = ""
        names: list[str] = pieces.tolist()

        def column(index: Positions, is_given: Flags) -> list[str]:
            result: list[str] = pieces[index * (is_given & self.plain)].tolist()
            return result

        others: list[Sequence[str]] = [()] * len(first)
        for i in np.flatnonzero((self.counts > 2) & self.plain).tolist():
            others[i] = names[first[i] + 2 : output[i]]
        call = zip(self.call.tolist(), self.ends.tolist(), strict=True)
        return NodeColumns(
            self.plain.tolist(),
            self.counts.tolist(),
            column(first, self.counts > 0),
            column(first + 1, self.counts > 1),
            others,
            column(output, self.plain),
            column(output + 1, has_name),
            [block[p:q] for p, q in call],
        )
