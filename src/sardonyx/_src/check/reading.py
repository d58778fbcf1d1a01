"""Who reads what: the names that nodes take, with those that their subgraphs take from outside."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.bodies import Body, Definition, Identity, initializer_names, input_names
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import canonical


def subgraphs(node: m.NodeProto) -> Iterator[tuple[str, m.GraphProto]]:
    """Path from the node, and graph, of each attribute that holds one."""
    for i, one in enumerate(node.__dict__.get("attribute") or ()):
        values = one.__dict__
        if "g" in values and one.g is not None:
            yield f"attribute[{i}].g", one.g
        if "graphs" in values:
            yield from ((f"attribute[{i}].graphs[{j}]", graph) for j, graph in enumerate(one.graphs))


def bottom_up(
    record: m.GraphProto | m.FunctionProto,
) -> Iterator[tuple[m.GraphProto | m.FunctionProto, list[set[str]]]]:
    """Every graph within, inner ones first, and the names that each of its nodes reads.

    A node reads its inputs, and what its subgraphs read and do not make.
    """
    free: dict[int, set[str]] = {}
    stack = [(record, False)]
    while stack:
        one, is_ready = stack.pop()
        if not is_ready:
            stack.append((one, True))
            stack += [
                (inner, False)
                for node in one.node
                if "attribute" in node.__dict__
                for _, inner in subgraphs(node)
            ]
            continue
        reads: list[set[str]] = []
        for node in one.node:
            names = {name for name in node.__dict__.get("input") or () if name}
            for _, inner in subgraphs(node):
                names |= free.pop(id(inner), set())
            reads.append(names)
        yield one, reads
        made = {*input_names(one), *(name for node in one.node for name in node.__dict__.get("output") or ())}
        if isinstance(one, m.GraphProto):
            made.update(name for _, name in initializer_names(one))
        free[id(one)] = set().union(*reads) - made


def is_disordered(body: Body) -> bool:
    """Whether a node, or a subgraph of it, reads what the body makes only here or later."""
    writers, outer = body.writers, body.outer
    if any(n in writers and not (outer and outer.sees(n, body.holder)) for _, _, n in body.unseen):
        return True
    root = body
    while root.kind == "nested" and root.outer is not None:
        root = root.outer
    if not root.holds_graphs:
        return False
    if root.disordered is None:
        root.disordered = {id(one) for one, reads in bottom_up(root.record) if reads_ahead(one, reads)}
    return id(body.record) in root.disordered


def reads_ahead(record: m.GraphProto | m.FunctionProto, reads: list[set[str]]) -> bool:
    """Whether a node reads what a node makes for the first time here or later."""
    made = set(input_names(record))
    if isinstance(record, m.GraphProto):
        made.update(name for _, name in initializer_names(record))
    ahead = {name for node in record.node for name in node.__dict__.get("output") or ()} - made
    for node, names in zip(record.node, reads, strict=True):
        if not ahead.isdisjoint(names):
            return True
        ahead.difference_update(node.__dict__.get("output") or ())
    return False


def circles(body: Body) -> list[list[int]]:
    """The groups of nodes of a body that need their own results; found once."""
    if body.circles is None:
        *_, (_, reads) = bottom_up(body.record)
        writers = body.writers
        body.circles = circles_of([sorted({writers[n][0] for n in names if n in writers}) for names in reads])
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
            if "attribute" in node.__dict__
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
