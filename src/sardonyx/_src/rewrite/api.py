"""Declaration of passes.  A pass is a file in `passes`; the file's docstring is its documentation and holds its pattern.

A pass is one of three kinds:

    @pattern(phase="fuse")           replaces matches of the Before text by the After text
    def fuse_swish(match: Match) -> Bindings | None: ...

    @rewrite(root="Cast", phase="simplify")   called with every node of that operator (all nodes without `root`)
    def drop_casts(node: Node, edit: Edit) -> bool: ...

    @sweep(phase="simplify")         traverses the whole model and yields after each edit
    def merge_initializers(edit: Edit) -> Iterator[str]: ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal, TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Attribute, AttributeScalar, Node
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.match import Match

Phase = Literal["expand", "simplify", "fuse"]
PHASES: tuple[Phase, ...] = ("expand", "simplify", "fuse")

# A binding that a pattern's function adds to a match: an attribute for `@name` in the After text, or an array for the name
# of a value that nothing in the After text defines.
Binding: TypeAlias = (
    "Array | np.generic | AttributeScalar | Attribute | tuple[int, ...] | tuple[float, ...] | str | None"
)
Bindings: TypeAlias = Mapping[str, Binding]
MatchCallback: TypeAlias = Callable[[Match], "Bindings | None"]
NodeCallback: TypeAlias = Callable[[Node, Edit], bool]
ModelCallback: TypeAlias = Callable[[Edit], Iterator[str]]


# Domain and operator -> the versions that a pass supports.
Versions: TypeAlias = Mapping[tuple[str, str], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Pass:
    """A registered pass.

    kind: how it is declared; exactly one of `on_match`, `on_node` and `on_model` is set, in this order of the kinds.
    phase: when it runs: the driver runs phase after phase.
    roots: the operators of the default domain to whose nodes it applies; empty for all nodes.
    module: the module with its docstring.
    own_name: its name if a caller registered it; else the name is that of the module's file.
    """

    kind: Literal["pattern", "rewrite", "sweep"]
    phase: Phase
    roots: tuple[str, ...]
    module: str
    on_match: MatchCallback | None = None
    on_node: NodeCallback | None = None
    on_model: ModelCallback | None = None
    own_name: str = ""

    @property
    def name(self) -> str:
        """The name of the pass: the name of its file, or the one that a caller registered it under."""
        return self.own_name or self.module.rpartition(".")[2].replace("_", "-")


@dataclass(frozen=True, slots=True)
class PassPage:
    """The parsed documentation of a pass; `before` has one text per alternative."""

    name: str
    title: str
    versions: Versions
    before: tuple[str, ...]
    after: str
    keeps: str


REGISTERED_PASSES: list[Pass] = []


def pattern(*, phase: Phase) -> Callable[[MatchCallback], MatchCallback]:
    """Register a pass that replaces its Before text by its After text.

    The function is called with every match; it returns more bindings for the After text, or None to reject the match.
    """

    def register(function: MatchCallback) -> MatchCallback:
        REGISTERED_PASSES.append(Pass("pattern", phase, (), function.__module__, on_match=function))
        return function

    return register


def rewrite(*, phase: Phase, root: str | tuple[str, ...] = ()) -> Callable[[NodeCallback], NodeCallback]:
    """Register a pass that is called with single nodes and returns whether it changed the model.

    Nodes of `root` are those in the versions that the docstring's Spec line lists; without `root`, the pass is called
    with every node.
    """

    def register(function: NodeCallback) -> NodeCallback:
        roots = (root,) if isinstance(root, str) else root
        REGISTERED_PASSES.append(Pass("rewrite", phase, roots, function.__module__, on_node=function))
        return function

    return register


def sweep(*, phase: Phase) -> Callable[[ModelCallback], ModelCallback]:
    """Register a pass over the whole model, which yields a description of each edit directly after it."""

    def register(function: ModelCallback) -> ModelCallback:
        REGISTERED_PASSES.append(Pass("sweep", phase, (), function.__module__, on_model=function))
        return function

    return register
