"""The variants of the kernel of trees, and its parameters."""

from __future__ import annotations

from dataclasses import astuple
from typing import Literal, TypeAlias

from sardonyx._src.compile.codegen import Element, LLVMValue, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.trees.votes import Combine, VoteKind
from sardonyx._src.dataclass import dataclass

BitKind: TypeAlias = Literal["none", "leaf", "long", "oblivious"]
ResultKind: TypeAlias = Literal[
    "scores", "classes", "second_class", "signed_second_class", "first_class", "signed_first_class"
]

# row_length: elements of a row of x.  packed_trees: the trees with those that pad the last chain.  divisor: of the totals.
# totals, spare: offsets in scratch, in bytes.  every_class: whether classes without votes may win (1), or not (0).
POINTERS = (
    "x",
    "y",
    "labels",
    "features",
    "signs",
    "edge_starts",
    "edges",
    "records",
    "roots",
    "splits",
    "words",
    "tree_words",
    "weights",
    "targets",
    "vote_starts",
    "base",
    "class_labels",
)
INTEGERS = (
    "rows",
    "row_length",
    "columns",
    "trees",
    "packed_trees",
    "num_targets",
    "divisor",
    "block_rows",
    "totals",
    "spare",
    "every_class",
)
PARAMETERS = Parameters(*POINTERS, *INTEGERS)


@dataclass(frozen=True, slots=True)
class TreeVariant:
    """What distinguishes kernels of trees.

    x: the type of the features.  bits: whether blocks of rows are evaluated by bit vectors: trees of up to 32 leaves, of
    more, or oblivious ones.  result: scores alone, or labels and scores; of two classes of which one is voted for, the
    second or the first, with signed scores or not.  post: the post transform.
    """

    x: Element
    y: Element
    column_bits: int
    bits: BitKind
    votes: VoteKind
    weight: Element
    combine: Combine
    result: ResultKind
    post: str

    @property
    def key(self) -> str:
        return "_".join(("trees", *map(str, astuple(self)))).lower()


class TreeKernelBuilder(KernelBuilder):
    """The builder of a kernel of trees, whose arguments are loaded once, at its entry."""

    def __init__(self, target: Target, variant: TreeVariant) -> None:
        super().__init__(target, PARAMETERS)
        self.variant = variant
        self._pointers = {name: super(TreeKernelBuilder, self).pointer(name) for name in POINTERS}
        self._integers = {name: super(TreeKernelBuilder, self).integer(name) for name in INTEGERS}

    def pointer(self, name: str) -> str:
        return self._pointers[name]

    def integer(self, name: str) -> LLVMValue:
        return self._integers[name]

    @property
    def totals(self) -> str:
        """The totals of the rows of a block, in scratch."""
        return self.gep(self.scratch, self.integer("totals"), "i8")

    @property
    def spare(self) -> str:
        """Scratch for one i64 of each lane."""
        return self.gep(self.scratch, self.integer("spare"), "i8")
