"""Who reads what: the names that a node takes, with those that its subgraphs take from outside."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.bodies import Body, Definition, Identity, initializer_names
from sardonyx.proto import messages as m
from sardonyx.schema import canonical


def subgraphs(node: m.NodeProto) -> Iterator[tuple[str, m.GraphProto]]:
    """Path from the node, and graph, of each attribute that holds one."""
    for i, one in enumerate(node.__dict__.get("attribute") or ()):
        if one.g is not None:
            yield f"attribute[{i}].g", one.g
        for j, graph in enumerate(one.__dict__.get("graphs") or ()):
            yield f"attribute[{i}].graphs[{j}]", graph


def read_by(node: m.NodeProto) -> set[str]:
    """Every name that the node reads, directly or within its subgraphs, and that is not made in these."""
    names = {name for name in node.__dict__.get("input") or () if name}
    for _, graph in subgraphs(node):
        names |= read_from_outside(graph)
    return names


def read_from_outside(graph: m.GraphProto) -> set[str]:
    """The names that a graph reads and does not make."""
    made = {v.name for v in graph.input} | {name for _, name in initializer_names(graph)}
    made.update(name for node in graph.node for name in node.output)
    read: set[str] = set()
    for node in graph.node:
        read |= read_by(node)
    return read - made


def circles(body: Body) -> list[list[int]]:
    """The groups of nodes of a body that need their own results; found once."""
    if body.circles is None:
        body.circles = cycles(body.record.node)
        body.circle_of = {i: number for number, group in enumerate(body.circles) for i in group}
    return body.circles


def in_one_circle(reader: Body, index: int, writer: Body, definition: Definition) -> bool:
    """Whether a node and the later node that makes its input, in this body or one around it, need each other."""
    while reader is not writer:
        assert reader.outer is not None, "the writer's body is the reader's or around it"
        reader, index = reader.outer, reader.holder
    circles(writer)
    circle = writer.circle_of.get(index)
    return circle is not None and circle == writer.circle_of.get(definition.position)


def cycles(nodes: list[m.NodeProto]) -> list[list[int]]:
    """The nodes that need their own results, directly or through others."""
    writer: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for name in node.output:
            writer.setdefault(name, i)
    return circles_of([sorted({writer[n] for n in read_by(node) if n in writer}) for node in nodes])


def circles_of(reads: list[list[int]]) -> list[list[int]]:
    """The groups of members that reach themselves, where `reads` says which member reaches which.

    Strongly connected groups by Tarjan's algorithm, with a stack of its own, as chains may be long.
    """
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    held: set[int] = set()
    groups: list[list[int]] = []
    for root in range(len(reads)):
        work = [(root, 0)] if root not in number else []
        while work:
            i, position = work.pop()
            if position == 0:
                number[i] = low[i] = len(number)
                path.append(i)
                held.add(i)
            else:
                low[i] = min(low[i], low[reads[i][position - 1]])
            while position < len(reads[i]) and (reads[i][position] in number):
                if reads[i][position] in held:
                    low[i] = min(low[i], number[reads[i][position]])
                position += 1
            if position < len(reads[i]):
                work += [(i, position + 1), (reads[i][position], 0)]
            elif low[i] == number[i]:
                group = [path.pop()]
                while group[-1] != i:
                    group.append(path.pop())
                held.difference_update(group)
                if len(group) > 1 or i in reads[i]:
                    groups.append(sorted(group))
    return sorted(groups)


def control_bodies(node: m.NodeProto) -> Iterator[tuple[str, m.GraphProto, int]]:
    """Path, graph, and number of inputs that the operator supplies, of the bodies of control-flow nodes."""
    if node.domain not in ("", "ai.onnx") or node.op_type not in ("If", "Loop", "Scan"):
        return
    count = {"If": 0, "Loop": max(len(node.input), 2), "Scan": len(node.input)}[node.op_type]
    for path, graph in subgraphs(node):
        yield path, graph, count


def graphs_of(model: m.ModelProto) -> Iterator[tuple[str, m.GraphProto]]:
    """Path and graph of the main graph, the training graphs and all that are nested in them and in functions."""
    for path, body in bodies_of(model):
        if isinstance(body, m.GraphProto):
            yield path, body


def bodies_of(model: m.ModelProto) -> Iterator[tuple[str, m.GraphProto | m.FunctionProto]]:
    """As `graphs_of`, and the functions themselves."""
    roots: list[tuple[str, m.GraphProto | m.FunctionProto]] = []
    if model.graph is not None:
        roots.append(("graph", model.graph))
    for i, step in enumerate(model.training_info):
        for name in ("initialization", "algorithm"):
            if (graph := getattr(step, name)) is not None:
                roots.append((f"training_info[{i}].{name}", graph))
    roots += [(f"functions[{i}]", function) for i, function in enumerate(model.functions)]
    stack = roots[::-1]
    while stack:
        path, body = stack.pop()
        yield path, body
        inner: list[tuple[str, m.GraphProto | m.FunctionProto]] = [
            (f"{path}.node[{i}].{at}", graph)
            for i, node in enumerate(body.node)
            for at, graph in subgraphs(node)
        ]
        stack += reversed(inner)


def called_by(function: m.FunctionProto) -> Iterator[Identity]:
    """The identities that the nodes of a function name, those in its subgraphs too."""
    stack: list[m.FunctionProto | m.GraphProto] = [function]
    while stack:
        for node in stack.pop().node:
            yield canonical(node.domain), node.op_type, node.overload
            stack += [graph for _, graph in subgraphs(node)]
