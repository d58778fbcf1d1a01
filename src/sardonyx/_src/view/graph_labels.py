"""Labels of the graphs of a document, which need not be a valid model."""

from __future__ import annotations

from sardonyx._src.tools.graph_labels import choose_label
from sardonyx._src.view.page_data import NONE, DocumentData, GraphData


def graph_labels(document: DocumentData) -> list[str]:
    """The label of each graph, as `sardonyx._src.tools.graph_labels` defines it for models.

    That is `main`, `domain.name:overload` of a function, `training[0].algorithm`, or, for the graph of an attribute, the
    label of the graph around it without `main`, the node and the attribute, as `loop.body`.
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
    """The name of a node; else that of its first output that is not omitted; else `node[number]`."""
    nodes, strings = graph["nodes"], document["strings"]
    if name := strings[nodes["name"][node]]:
        return name
    start = nodes["outputEnds"][node - 1] if node else 0
    named = (v for v in nodes["outputs"][start : nodes["outputEnds"][node]] if v != NONE)
    value = next(named, NONE)
    return strings[graph["values"]["name"][value]] if value != NONE else f"node[{node}]"


def find_graph(document: DocumentData, text: str) -> int:
    """The number of the graph with a label, with an end of a label (`body`, `choice.then_branch`), or with a name.

    Raises InputError for text that matches no graph or several.
    """
    names = [graph["name"] for graph in document["graphs"]]
    return choose_label(graph_labels(document), names, text)
