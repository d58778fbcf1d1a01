"""drop-stray-type: drops a value_info entry of no value, of an input or output, or of a contradicting type.

Keeps: the type, if the input or output that it describes has none.
Leaves: inputs and outputs whose declared types are contradicted.
"""

from __future__ import annotations

from typing import cast

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import FunctionProto, GraphProto, NodeProto, ValueInfoProto


@fix("SX109 SX117 SX137")
def drop_stray_type(violation: Violation) -> str:
    if not violation.path.startswith("value_info["):
        return ""
    entries, index = violation.entry()
    entry = entries[index]
    assert isinstance(entry, ValueInfoProto), "the path leads to a type"
    was_moved = False
    if violation.code == "SX117":
        graph = violation.visited_record(GraphProto)
        for values in (graph.input, graph.output):
            index_in_border = violation.fix_pass.first(cast("list[object]", values), entry.name, name_of)
            if (
                index_in_border is not None
                and values[index_in_border].type is None
                and entry.type is not None
            ):
                values[index_in_border].type, was_moved = entry.type, True
    del entries[index]
    return f"dropped the entry for {entry.name!r}" + (", and gave its type to the value itself" * was_moved)


@fix("SX701")
def drop_wrong_type(violation: Violation) -> str:
    body, name = producer(violation)
    border = {value.name for value in body.output} if isinstance(body, GraphProto) else set()
    stated = [value for value in body.value_info if value.name == name]
    if not stated or name in border:
        return ""
    body.value_info = [value for value in body.value_info if value.name != name]
    return f"dropped the entry of value_info for {name!r}"


def name_of(value: object) -> str:
    assert isinstance(value, ValueInfoProto), "inputs and outputs are of this class"
    return value.name


def producer(violation: Violation) -> tuple[GraphProto | FunctionProto, str]:
    """The innermost body on the path `….node[i].output[j]` from the model, and the name of that output."""
    body_path, _, rest = violation.path.rpartition(".node[")
    body, node = violation.record_at(body_path), violation.record_at(violation.path.rpartition(".")[0])
    assert isinstance(body, GraphProto | FunctionProto) and isinstance(node, NodeProto), (
        f"{violation.path}: {rest}"
    )
    return body, node.output[int(violation.path.rpartition("[")[2].removesuffix("]"))]
