"""Reads of names by nodes and their subgraphs: node order, cycles, and iteration over nested bodies."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine.body import BodyScope, Definition, Identity, initializer_names, input_names
from sardonyx._src.ops.registry import find
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import canonical


def subgraphs(node: m.NodeProto) -> Iterator[tuple[str, m.GraphProto]]:
    """The graphs in the attributes of a node, each with its path from the node."""
    for i, attribute in enumerate(node.__dict__.get("attribute") or ()):
        values = attribute.__dict__
        if "g" in values and attribute.g is not None:
            yield f"attribute[{i}].g", attribute.g
        if "graphs" in values:
            yield from ((f"attribute[{i}].graphs[{j}]", graph) for j, graph in enumerate(attribute.graphs))


def bottom_up(
    record: m.GraphProto | m.FunctionProto,
) -> Iterator[tuple[m.GraphProto | m.FunctionProto, list[set[str]]]]:
    """The body and all nested graphs, inner ones first, each with the names that each of its nodes reads.

    A node reads its inputs and the free names of its subgraphs.
    """
    free: dict[int, set[str]] = {}
    stack = [(record, False)]
    while stack:
        body, is_ready = stack.pop()
        if not is_ready:
            stack.append((body, True))
            stack += [
                (inner, False)
                for node in body.node
                if "attribute" in node.__dict__
                for _, inner in subgraphs(node)
            ]
            continue
        reads: list[set[str]] = []
        for node in body.node:
            names = {name for name in node.__dict__.get("input") or () if name}
            for _, inner in subgraphs(node):
                names |= free.pop(id(inner), set())
            reads.append(names)
        yield body, reads
        outputs = (name for node in body.node for name in node.__dict__.get("output") or ())
        defined = {*input_names(body), *outputs}
        if isinstance(body, m.GraphProto):
            defined.update(name for _, name in initializer_names(body))
        free[id(body)] = set().union(*reads) - defined


def reads_before_writes(body: BodyScope) -> bool:
    """Whether a node, or a subgraph of it, reads a name that the body defines only by that node or a later one."""
    producers, outer = body.producers, body.outer
    if any(
        n in producers and not (outer and outer.is_visible(n, body.outer_node))
        for _, _, n in body.unresolved_reads
    ):
        return True
    root = body
    while root.kind == "nested" and root.outer is not None:
        root = root.outer
    if not root.holds_graphs:
        return False
    if root.early_reads is None:
        root.early_reads = {id(inner) for inner, reads in bottom_up(root.record) if reads_ahead(inner, reads)}
    return id(body.record) in root.early_reads


def reads_ahead(record: m.GraphProto | m.FunctionProto, reads: list[set[str]]) -> bool:
    """Whether a node reads a name that is first defined by that node or a later one."""
    defined = set(input_names(record))
    if isinstance(record, m.GraphProto):
        defined.update(name for _, name in initializer_names(record))
    ahead = {name for node in record.node for name in node.__dict__.get("output") or ()} - defined
    for node, names in zip(record.node, reads, strict=True):
        if not ahead.isdisjoint(names):
            return True
        ahead.difference_update(node.__dict__.get("output") or ())
    return False


def cycles(body: BodyScope) -> list[list[int]]:
    """The groups of nodes of a body that depend on their own results (memoized)."""
    if body.cycles is None:
        *_, (_, reads) = bottom_up(body.record)
        producers = body.producers
        body.cycles = find_cycles(
            [sorted({producers[n][0] for n in names if n in producers}) for names in reads]
        )
        body.cycle_of = {i: number for number, group in enumerate(body.cycles) for i in group}
    return body.cycles


def in_same_cycle(reader: BodyScope, index: int, writer: BodyScope, definition: Definition) -> bool:
    """Whether a node and the later node, here or in an outer body, that defines its input depend on each other."""
    while reader is not writer:
        assert reader.outer is not None, "the writer's body is the reader's or encloses it"
        reader, index = reader.outer, reader.outer_node
    cycles(writer)
    cycle = writer.cycle_of.get(index)
    return cycle is not None and cycle == writer.cycle_of.get(definition.position)


def find_cycles(reads: list[list[int]]) -> list[list[int]]:
    """Nontrivial strongly connected components of the graph with edges from i to each of reads[i].

    Tarjan's algorithm with an explicit stack, since chains may be long.
    """
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    path: list[int] = []
    on_path: set[int] = set()
    groups: list[list[int]] = []
    for root in range(len(reads)):
        work = [(root, 0)] if root not in number else []
        while work:
            i, position = work.pop()
            if position == 0:
                number[i] = low[i] = len(number)
                path.append(i)
                on_path.add(i)
            else:
                low[i] = min(low[i], low[reads[i][position - 1]])
            while position < len(reads[i]) and (reads[i][position] in number):
                if reads[i][position] in on_path:
                    low[i] = min(low[i], number[reads[i][position]])
                position += 1
            if position < len(reads[i]):
                work += [(i, position + 1), (reads[i][position], 0)]
            elif low[i] == number[i]:
                group = [path.pop()]
                while group[-1] != i:
                    group.append(path.pop())
                on_path.difference_update(group)
                if len(group) > 1 or i in reads[i]:
                    groups.append(sorted(group))
    return sorted(groups)


def control_bodies(node: m.NodeProto) -> Iterator[tuple[str, m.GraphProto, int]]:
    """The bodies of a control-flow node: path, graph, and number of inputs that the operator supplies."""
    bodies = list(subgraphs(node))
    op = find(canonical(node.domain), node.op_type) if bodies else None
    if op is not None and op.body_inputs is not None:
        count = op.body_inputs(len(node.input))
        yield from ((path, graph, count) for path, graph in bodies)


def graphs_of(model: m.ModelProto) -> Iterator[tuple[str, m.GraphProto]]:
    """All graphs of a model, including training graphs and those nested in functions, each with its path."""
    for path, body in bodies_of(model):
        if isinstance(body, m.GraphProto):
            yield path, body


def bodies_of(model: m.ModelProto) -> Iterator[tuple[str, m.GraphProto | m.FunctionProto]]:
    """All graphs and functions of a model, each with its path."""
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
            (f"{path}.node[{i}].{subpath}", graph)
            for i, node in enumerate(body.node)
            if "attribute" in node.__dict__
            for subpath, graph in subgraphs(node)
        ]
        stack += reversed(inner)


def called_by(function: m.FunctionProto) -> Iterator[Identity]:
    """The operator identities that the nodes of a function and of its subgraphs refer to."""
    stack: list[m.FunctionProto | m.GraphProto] = [function]
    while stack:
        for node in stack.pop().node:
            yield canonical(node.domain), node.op_type, node.overload
            stack += [graph for _, graph in subgraphs(node)]
