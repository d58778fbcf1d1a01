"""Labels of the graphs of a document: what users call a nested graph or the body of a function."""

from __future__ import annotations

from collections import Counter

from sardonyx._src.errors import InputError
from sardonyx._src.suggestions import suggest
from sardonyx._src.view.page_data import NONE, DocumentData, GraphData


def graph_labels(document: DocumentData) -> list[str]:
    """The label of each graph.

    That of a nested graph is its node and attribute, after the label of the graph that holds the node, as in `loop.body` or
    `loop.body.choice.then_branch`; a node without a name has that of its first output.  A function is `domain.name`, with
    `:overload` if it has one, a training graph `training[0].algorithm`.  The main graph is `main`.
    """
    labels = [""] * len(document["graphs"])
    for function in document["functions"]:
        overload = f":{function['overload']}" if function["overload"] else ""
        labels[function["graph"]] = ".".join(filter(None, (function["domain"], function["name"]))) + overload
    for i, step in enumerate(document["training"]):
        for number, part in ((step["initialization"], "initialization"), (step["algorithm"], "algorithm")):
            if number != NONE:
                labels[number] = f"training[{i}].{part}"
    labels[0] = "main"
    for number, graph in enumerate(document["graphs"]):  # graphs come after those that hold them
        if (owner := graph["owner"]) is not None:
            outer = labels[owner["graph"]] if owner["graph"] else ""
            node = node_label(document, document["graphs"][owner["graph"]], owner["node"])
            labels[number] = ".".join(filter(None, (outer, node, owner["attribute"])))
    return labels


def node_label(document: DocumentData, graph: GraphData, node: int) -> str:
    """The name of a node, or that of its first output."""
    nodes, strings = graph["nodes"], document["strings"]
    if name := strings[nodes["name"][node]]:
        return name
    start = nodes["outputEnds"][node - 1] if node else 0
    named = (v for v in nodes["outputs"][start : nodes["outputEnds"][node]] if v != NONE)
    value = next(named, NONE)
    return strings[graph["values"]["name"][value]] if value != NONE else f"node[{node}]"


def find_graph(document: DocumentData, text: str) -> int:
    """The number of the graph with a label, with an end of a label (`body`, `choice.then_branch`), or with a name.

    Raises InputError for a text that means none or several.
    """
    labels = graph_labels(document)
    names = [graph["name"] for graph in document["graphs"]]
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
    raise InputError(
        f"graph must be the label or name of a graph; got {text!r}{suggest(text, labels, 'graphs')}",
        name="graph",
    )
