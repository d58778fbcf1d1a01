"""How a pass is declared: a file in `passes`, whose docstring is its page and, for a pattern, the pattern itself.

A pass is one of three kinds:

    @pattern(phase="fuse")           the Before text is searched for and replaced by the After text
    def fuse_swish(m: Match) -> Bindings | None: ...

    @rewrite(root="Cast", phase="simplify")   asked about every node of that operator (all nodes without `root`)
    def drop_casts(node: Node, edit: Edit) -> bool: ...

    @sweep(phase="simplify")         looks at the whole model; yields after each edit
    def merge_initializers(edit: Edit) -> Iterator[str]: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from sardonyx._src.ir.graph import Attribute, AttributeScalar, Node
from sardonyx._src.ir.tensors import Array
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.match import Match

Phase = Literal["expand", "simplify", "fuse"]
PHASES: tuple[Phase, ...] = ("expand", "simplify", "fuse")

# What a pattern's function adds to what was matched: attributes for `@name` of the After text, arrays for names of
# values that it reads and nothing defines.
Binding: TypeAlias = (
    "Array | np.generic | AttributeScalar | Attribute | tuple[int, ...] | tuple[float, ...] | str | None"
)
Bindings: TypeAlias = Mapping[str, Binding]
AskPattern: TypeAlias = Callable[[Match], "Bindings | None"]
AskNode: TypeAlias = Callable[[Node, Edit], bool]
AskModel: TypeAlias = Callable[[Edit], Iterator[str]]


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass as its decorator states it; its name and page are those of its module.

    `roots` are operators of the default domain whose nodes it is asked about, none: all nodes.
    """

    kind: Literal["pattern", "rewrite", "sweep"]
    phase: Phase
    roots: tuple[str, ...]
    module: str
    on_match: AskPattern | None = None
    on_node: AskNode | None = None
    on_model: AskModel | None = None

    @property
    def name(self) -> str:
        """The pass's name, which is that of its file."""
        return self.module.rpartition(".")[2].replace("_", "-")


REGISTERED: list[Pass] = []


def pattern(*, phase: Phase) -> Callable[[AskPattern], AskPattern]:
    """Registers a pass that replaces its Before text by its After text.

    The function is asked about every match; it answers with what the After text needs besides, or None to leave the
    nodes as they are.
    """

    def register(function: AskPattern) -> AskPattern:
        REGISTERED.append(Pass("pattern", phase, (), function.__module__, on_match=function))
        return function

    return register


def rewrite(*, phase: Phase, root: str | tuple[str, ...] = ()) -> Callable[[AskNode], AskNode]:
    """Registers a pass that is asked about nodes, one at a time; it answers whether it changed anything.

    A node of `root` is one in a version that the docstring's Spec line lists; without `root` it is any node of an
    operator that is known.
    """

    def register(function: AskNode) -> AskNode:
        roots = (root,) if isinstance(root, str) else root
        REGISTERED.append(Pass("rewrite", phase, roots, function.__module__, on_node=function))
        return function

    return register


def sweep(*, phase: Phase) -> Callable[[AskModel], AskModel]:
    """Registers a pass over the whole model, which yields the place of each edit as soon as it is done."""

    def register(function: AskModel) -> AskModel:
        REGISTERED.append(Pass("sweep", phase, (), function.__module__, on_model=function))
        return function

    return register
