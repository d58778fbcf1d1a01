"""Omissions: calls of functions that omit an input which the body of the function requires.

A call may omit any input of a model-local function (IR.md, "Optional Inputs and Outputs").  The parameter is then an absent
value, and so is an output of the function that is this parameter.  An absent value may be used only as an optional input of
an operator, and as an input of a function that does not require it: not as an operand of a variadic operator, an input of
Identity, or an output of a graph.  A node in a branch or in the body of a loop requires its inputs only if it is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Final, TypeAlias

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InvalidModel, UnsupportedOperator
from sardonyx._src.ir import Function, Graph, Model, Node, Value
from sardonyx._src.ir.call_counts import callee_of, callees_first
from sardonyx._src.ir.walk import location, roots
from sardonyx._src.ops.bind import schema_of

OMITTED: Final = -1  # the source of a value that is absent in every call
# Why a value is absent: the index of the function's parameter, if a call omits it, or OMITTED.
Source: TypeAlias = int


@dataclass(frozen=True, slots=True)
class Omission:
    """A node that receives an absent value although it requires one.

    is_certain: whether every run requires the value; otherwise the node is in a branch or in the body of a loop.
    """

    node: Node
    why: str
    is_certain: bool


@dataclass(frozen=True, slots=True)
class Requirement:
    """The node in the body of a function that requires a parameter: its location, and whether every call executes it."""

    where: str
    is_certain: bool


@dataclass(slots=True)
class FunctionSummary:
    """What a function does with absent values.

    required: the parameters that it requires, by index.
    outputs: for each output, why it is absent (`Source`), or None if it is not.
    omissions: the omissions inside the function that occur in every call.
    """

    required: dict[int, Requirement] = field(default_factory=dict)
    outputs: list[Source | None] = field(default_factory=list)
    omissions: list[Omission] = field(default_factory=list)


def find_omissions(model: Model) -> Iterator[Omission]:
    """The absent values that are required, in the graphs of the model and in its functions."""
    if model.functions:
        summaries = summarize_functions(model)
        for summary in summaries.values():
            yield from summary.omissions
        for root in roots(model):
            if root.function is None:
                scan = OmissionScan(model, model.opset_imports, summaries, FunctionSummary())
                yield from scan.graph(root, is_certain=True)
                yield from scan.outputs(root)


def summarize_functions(model: Model) -> dict[Function, FunctionSummary]:
    """The summary of each function."""
    summaries: dict[Function, FunctionSummary] = {}
    for function in callees_first(model):
        summary = summaries[function] = FunctionSummary()
        scan = OmissionScan(model, function.opset_imports, summaries, summary)
        scan.sources = {value: i for i, value in enumerate(function.body.inputs)}
        summary.omissions = list(scan.graph(function.body, is_certain=True))
        summary.outputs = [scan.sources.get(value) for value in function.body.outputs]
    return summaries


def refuse_omissions(model: Model) -> None:
    """Raises InvalidModel for the first absent value that every run requires."""
    for omission in find_omissions(model):
        if omission.is_certain:
            raise InvalidModel(omission.why, location=location(omission.node))


@dataclass(slots=True)
class OmissionScan:
    """A search for omissions in a graph and its subgraphs.

    imports: the operator-set imports of the graph.
    summaries: the summaries of the functions that the graph may call.
    summary: the summary, in progress, of the function that has this graph as its body.
    sources: for each absent value found so far, why it is absent.
    """

    model: Model
    imports: Mapping[str, int]
    summaries: Mapping[Function, FunctionSummary]
    summary: FunctionSummary
    sources: dict[Value, Source] = field(default_factory=dict)

    def graph(self, graph: Graph, *, is_certain: bool) -> Iterator[Omission]:
        """The omissions in a graph and its subgraphs.  is_certain: whether every run executes the graph."""
        for node in graph.nodes:
            function = callee_of(node, self.model)
            if function is not None:
                yield from self.call(node, function, is_certain)
            elif any(value in self.sources for value in node.inputs):
                yield from self.operator(node, is_certain)
            for inner in node.subgraphs:
                yield from self.graph(inner, is_certain=False)
                yield from self.outputs(inner, is_certain=False)

    def operator(self, node: Node, is_certain: bool) -> Iterator[Omission]:
        """The absent inputs of a node that its operator requires."""
        try:
            schema = schema_of(node, self.imports)
        except (InvalidModel, UnsupportedOperator):
            return  # other checks report such nodes
        for i, value in enumerate(node.inputs):
            formal = schema.input(i)
            if formal is not None and formal.option != "optional":
                what = f"input {i} {formal.name!r} of {node.op_type}"
                yield from self.require(node, value, what, is_certain)

    def call(self, node: Node, function: Function, is_certain: bool) -> Iterator[Omission]:
        """The absent inputs of a call that its function requires; records the outputs that are absent."""
        summary = self.summaries.get(function, FunctionSummary())  # a recursive call has no entry
        sources = [self.source(node, i) for i in range(len(function.body.inputs))]
        for i, requirement in summary.required.items():
            if (source := sources[i]) is not None:
                formal = function.body.inputs[i].name
                what = f"input {i} {formal!r} of {function.label}, which {requirement.where} requires,"
                yield from self.note(node, source, what, is_certain and requirement.is_certain)
        for value, absent in zip(node.outputs, summary.outputs, strict=False):
            source = OMITTED if absent == OMITTED else None if absent is None else sources[absent]
            if source is not None and value.name:
                self.sources[value] = source

    def source(self, node: Node, i: int) -> Source | None:
        """Why an input is absent; None if it is given."""
        value = node.inputs[i] if i < len(node.inputs) else None
        return OMITTED if value is None else self.sources.get(value)

    def outputs(self, graph: Graph, *, is_certain: bool = True) -> Iterator[Omission]:
        """The outputs of a graph that are absent."""
        for value in graph.outputs:
            node = value.producer or graph.parent
            if node is not None:
                yield from self.require(node, value, f"output {value.name!r} of the graph", is_certain)

    def require(self, node: Node, value: Value | None, what: str, is_certain: bool) -> Iterator[Omission]:
        """The omission, if any, of a value that a node requires.  what: the value, for messages."""
        source = None if value is None else self.sources.get(value)
        if source is not None:
            yield from self.note(node, source, what, is_certain)

    def note(self, node: Node, source: Source, what: str, is_certain: bool) -> Iterator[Omission]:
        """Reports a required value that is absent in every call, or records that the function requires its parameter."""
        if source == OMITTED:
            yield Omission(node, f"{what} must be given; it is absent", is_certain)
            return
        known = self.summary.required.get(source)
        if known is None or (is_certain and not known.is_certain):
            self.summary.required[source] = Requirement(location(node), is_certain)
