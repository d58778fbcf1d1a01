"""Labels of the graphs of a model: what users call a nested graph or the body of a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Model, Node
from sardonyx._src.suggestions import suggest


def labeled_graphs(model: Model) -> Iterator[tuple[str, Graph]]:
    """Every graph with its label.

    The label of a nested graph is the label of the graph that holds its node, then the node and the attribute: `loop.body` or
    `loop.body.choice.then_branch`; the label of the main graph is left out there.  A node without a name is called by its
    first output.  A function is `domain.name`, with `:overload` if it has one, a training graph `training[0].algorithm`, and
    the main graph `main`.
    """
    yield "main", model.graph
    yield from nested_graphs(model.graph, "")
    for function in model.functions.values():
        overload = f":{function.overload}" if function.overload else ""
        yield from with_nested(
            function.body, ".".join(filter(None, (function.domain, function.name))) + overload
        )
    for i, step in enumerate(model.training):
        for graph, part in ((step.initialization, "initialization"), (step.algorithm, "algorithm")):
            if graph is not None:
                yield from with_nested(graph, f"training[{i}].{part}")


def with_nested(graph: Graph, label: str) -> Iterator[tuple[str, Graph]]:
    yield label, graph
    yield from nested_graphs(graph, f"{label}.")


def nested_graphs(graph: Graph, prefix: str) -> Iterator[tuple[str, Graph]]:
    for number, node in enumerate(graph.nodes):
        for attribute in node.attributes.values():
            for inner in attribute.graphs:
                yield from with_nested(inner, f"{prefix}{node_label(node, number)}.{attribute.name}")


def node_label(node: Node, number: int) -> str:
    """The name of a node, or that of its first output."""
    return node.name or next((v.name for v in node.outputs if v.name), f"node[{number}]")


def find_graph(model: Model, text: str) -> Graph:
    """The graph with a label, with an end of a label (`body`, `choice.then_branch`), or with a name.

    Raises InputError for text that matches no graph or several.
    """
    labeled = [*labeled_graphs(model)]
    names = [graph.name for _, graph in labeled]
    return labeled[choose_label([label for label, _ in labeled], names, text)][1]


def choose_label(labels: Sequence[str], names: Sequence[str], text: str) -> int:
    """The index of the graph that `text` names, among graphs with these labels and names."""
    for matches in (
        [i for i, label in enumerate(labels) if label == text],
        [i for i, label in enumerate(labels) if label.endswith(f".{text}")],
        [i for i, name in enumerate(names) if name == text],
    ):
        if len(matches) == 1:
            return matches[0]
        if matches:
            several = ", ".join(repr(labels[i]) for i in matches[:5] if Counter(labels)[labels[i]] == 1)
            what = f"graph must mean one graph; {text!r} means {len(matches)}"
            raise InputError(f"{what}, among them {several}" if several else what, name="graph")
    hint = suggest(text, labels, "graphs")
    raise InputError(f"graph must be the label or name of a graph; got {text!r}{hint}", name="graph")
