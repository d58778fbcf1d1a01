"""Immutable sequences: an edit returns another sequence, which shares nearly all of its memory with the first.

A list would be copied by every insertion, so that the time of a loop that inserts n tensors would grow with n * n.  Here
the elements are the leaves of a tree like a B-tree (Bayer and McCreight, "Organization and maintenance of large ordered indices",
1972), whose nodes are never changed: an edit makes new ones along one path from the root (Driscoll, Sarnak, Sleator and
Tarjan, "Making data structures persistent", 1989).  The last elements are a leaf outside the tree, as most insertions are at
the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TypeAlias

import numpy as np

from sardonyx._src.ir import Array, SparseTensor

# A value during a run (`ops.api`); defined here, since a sequence is such a value and consists of such values.
RuntimeValue: TypeAlias = (
    "Array | SparseTensor | list[RuntimeValue] | PersistentSequence | dict[int, RuntimeValue]"
    " | dict[str, RuntimeValue] | None"
)
WIDTH = 32  # the largest number of elements of a leaf, and of children of an inner node
MAX_EDITS = (
    8  # the number of edits that a sequence records; a reader that missed more must look at every element
)
VERSIONS = count()
Leaf: TypeAlias = "tuple[RuntimeValue, ...]"
# An edit: the version before it, and the index of the inserted element, or ~index for an erased one.
SequenceEdit: TypeAlias = "tuple[int, int]"
Shape: TypeAlias = "tuple[int, ...]"
Node: TypeAlias = "Leaf | InnerNode"


class InnerNode:
    """A node with children.

    ends: for each child, the number of elements in it and in the children before it
    """

    __slots__ = ("children", "ends")

    def __init__(self, children: tuple[Node, ...], ends: tuple[int, ...]) -> None:
        self.children, self.ends = children, ends

    @classmethod
    def of(cls, children: Sequence[Node]) -> InnerNode:
        ends, end = [], 0
        for child in children:
            end += size_of(child)
            ends.append(end)
        return cls(tuple(children), tuple(ends))


class PersistentSequence:
    """An immutable sequence.

    tree, front, tail: a tree of the first `front` elements, and the other elements
    shape, dtype: the shape and element type of every element; None if elements are no arrays, or may differ in it
    version: a number that no other sequence has
    edits: the last edits that led to the sequence; empty if `shape` is given
    """

    __slots__ = ("dtype", "edits", "front", "shape", "tail", "tree", "version")

    def __init__(
        self,
        tree: Node,
        front: int,
        tail: Leaf,
        shape: Shape | None,
        dtype: np.dtype[np.generic] | None,
        edits: tuple[SequenceEdit, ...] = (),
    ) -> None:
        self.tree, self.front, self.tail = tree, front, tail
        self.shape, self.dtype, self.edits = shape, dtype, edits
        self.version = next(VERSIONS)

    @classmethod
    def of(cls, elements: Iterable[RuntimeValue]) -> PersistentSequence:
        elements = tuple(elements)
        nodes: list[Node] = [elements[i : i + WIDTH] for i in range(0, len(elements), WIDTH)]
        while len(nodes) > 1:
            nodes = [InnerNode.of(nodes[i : i + WIDTH]) for i in range(0, len(nodes), WIDTH)]
        shape, dtype = None, None
        if elements and isinstance(first := elements[0], np.ndarray):
            arrays = [element for element in elements if isinstance(element, np.ndarray)]
            if len(arrays) == len(elements):
                shape = first.shape if all(array.shape == first.shape for array in arrays) else None
                dtype = first.dtype if all(array.dtype == first.dtype for array in arrays) else None
        return cls(nodes[0] if nodes else (), len(elements), (), shape, dtype)

    def __len__(self) -> int:
        return self.front + len(self.tail)

    def __iter__(self) -> Iterator[RuntimeValue]:
        for leaf in leaves_of(self.tree):
            yield from leaf
        yield from self.tail

    def __getitem__(self, index: int) -> RuntimeValue:
        """The element of an index, which may be negative as for a list; raises IndexError if there is none."""
        length = self.front + len(self.tail)
        if index < 0:
            index += length
        if not 0 <= index < length:
            raise IndexError(f"index {index} lies outside of a sequence of {length}")
        if index >= self.front:
            return self.tail[index - self.front]
        node = self.tree
        while isinstance(node, InnerNode):
            k = bisect_right(node.ends, index)
            if k:
                index -= node.ends[k - 1]
            node = node.children[k]
        return node[index]

    def has_type_of(self, element: RuntimeValue) -> bool:
        """Whether all elements are known to be arrays of the element type of `element`."""
        return type(element) is np.ndarray and element.dtype is self.dtype

    def with_element(self, index: int, element: RuntimeValue) -> PersistentSequence:
        """The sequence with `element` inserted before the element of `index`, which is in 0 to the length."""
        tree, front, tail = self.tree, self.front, self.tail
        if index < front:
            tree, front = tree_of(insert_into(tree, index, element)), front + 1
        else:
            i = index - front
            tail = (*tail, element) if i == len(tail) else (*tail[:i], element, *tail[i:])
            if len(tail) > WIDTH:
                tree, front = tree_of(append_leaf(tree, tail[:WIDTH])), front + WIDTH
                tail = tail[WIDTH:]
        shape, dtype = self.shape, self.dtype
        if not (isinstance(element, np.ndarray) and element.shape == shape and element.dtype is dtype):
            shape = None
            dtype = dtype if isinstance(element, np.ndarray) and element.dtype == dtype else None
        return PersistentSequence(tree, front, tail, shape, dtype, self.edits_with(index, shape))

    def without_element(self, index: int) -> PersistentSequence:
        """The sequence without the element of `index`, which is in 0 to the length minus 1."""
        tree, front, tail = self.tree, self.front, self.tail
        if index < front:
            tree, front = tree_of(erase_from(tree, index)), front - 1
        else:
            tail = (*tail[: index - front], *tail[index - front + 1 :])
        return PersistentSequence(
            tree, front, tail, self.shape, self.dtype, self.edits_with(~index, self.shape)
        )

    def edits_with(self, position: int, shape: Shape | None) -> tuple[SequenceEdit, ...]:
        """The `edits` of the sequence that an edit of this one returns.

        They are empty for a sequence of one shape, whose types are known from any element.
        """
        return () if shape is not None else (*self.edits[1 - MAX_EDITS :], (self.version, position))

    def inserted_since(self, version: int) -> Sequence[int] | None:
        """The indices of the elements inserted after a version; None if the recorded edits do not lead back to it."""
        if version == self.version:
            return ()
        edits = self.edits
        for first in range(len(edits) - 1, -1, -1):
            if edits[first][0] == version:
                break
        else:
            return None
        indices: list[int] = []
        for _, edit in edits[first:]:
            if edit >= 0:
                indices = [i + (i >= edit) for i in indices] + [edit]
            else:
                indices = [i - (i > ~edit) for i in indices if i != ~edit]
        return indices


def size_of(node: Node) -> int:
    """The number of elements."""
    return node.ends[-1] if isinstance(node, InnerNode) else len(node)


def leaves_of(node: Node) -> Iterator[Leaf]:
    if not isinstance(node, InnerNode):
        yield node
        return
    for child in node.children:
        yield from leaves_of(child)


def tree_of(nodes: tuple[Node, ...]) -> Node:
    """The tree of at most two nodes that replace an edited root."""
    if len(nodes) > 1:
        return InnerNode.of(nodes)
    node: Node = nodes[0] if nodes else ()
    while isinstance(node, InnerNode) and len(node.children) == 1:
        node = node.children[0]
    return node


# The following functions return the nodes that replace an edited one: two if it has become too wide, none if it is now empty.


def insert_into(node: Node, index: int, element: RuntimeValue) -> tuple[Node, ...]:
    if not isinstance(node, InnerNode):
        leaf = (*node[:index], element, *node[index:])
        return (leaf,) if len(leaf) <= WIDTH else (leaf[: WIDTH // 2], leaf[WIDTH // 2 :])
    k = bisect_right(node.ends, index)
    start = node.ends[k - 1] if k else 0
    return replace_child(node, k, insert_into(node.children[k], index - start, element), 1)


def append_leaf(node: Node, leaf: Leaf) -> tuple[Node, ...]:
    """Append a leaf to a tree in which all leaves are equally deep; they are in the result as well."""
    if not isinstance(node, InnerNode):
        return (node, leaf) if node else (leaf,)
    last = len(node.children) - 1
    return replace_child(node, last, append_leaf(node.children[last], leaf), len(leaf))


def erase_from(node: Node, index: int) -> tuple[Node, ...]:
    if not isinstance(node, InnerNode):
        leaf = (*node[:index], *node[index + 1 :])
        return (leaf,) if leaf else ()
    k = bisect_right(node.ends, index)
    start = node.ends[k - 1] if k else 0
    return replace_child(node, k, erase_from(node.children[k], index - start), -1)


def replace_child(parent: InnerNode, k: int, nodes: tuple[Node, ...], difference: int) -> tuple[Node, ...]:
    """The inner node with child k replaced by nodes that have `difference` more elements than it."""
    children = (*parent.children[:k], *nodes, *parent.children[k + 1 :])
    if len(nodes) == 1:
        ends = parent.ends
        return (InnerNode(children, (*ends[:k], *[end + difference for end in ends[k:]])),)
    if len(children) <= WIDTH:
        return (InnerNode.of(children),) if children else ()
    return InnerNode.of(children[: WIDTH // 2]), InnerNode.of(children[WIDTH // 2 :])
