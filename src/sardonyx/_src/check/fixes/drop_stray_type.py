"""drop-stray-type: an entry of value_info about no value, about an input or output, or of another type than the value is dropped.

Keeps: the type, where the input or output that it is about has none.
Leaves: inputs and outputs whose declared types cannot be.
"""

from __future__ import annotations

from typing import cast

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import FunctionProto, GraphProto, NodeProto, ValueInfoProto


@fix("SX109 SX117 SX137")
def drop_stray_type(fault: Fault) -> str:
    if not fault.at.startswith("value_info["):
        return ""
    entries, index = fault.entry()
    entry = entries[index]
    assert isinstance(entry, ValueInfoProto), "the path leads to a type"
    moved = False
    if fault.code == "SX117":
        graph = fault.the(GraphProto)
        for values in (graph.input, graph.output):
            found = fault.round.first(cast("list[object]", values), entry.name, name_of)
            if found is not None and values[found].type is None and entry.type is not None:
                values[found].type, moved = entry.type, True
    del entries[index]
    return f"dropped the entry for {entry.name!r}" + (", and gave its type to the value itself" * moved)


@fix("SX701")
def drop_wrong_type(fault: Fault) -> str:
    body, name = producer(fault)
    border = {value.name for value in body.output} if isinstance(body, GraphProto) else set()
    stated = [value for value in body.value_info if value.name == name]
    if not stated or name in border:
        return ""
    body.value_info = [value for value in body.value_info if value.name != name]
    return f"dropped the entry of value_info for {name!r}"


def name_of(value: object) -> str:
    assert isinstance(value, ValueInfoProto), "inputs and outputs are of this class"
    return value.name


def producer(fault: Fault) -> tuple[GraphProto | FunctionProto, str]:
    """The innermost body on the path `….node[i].output[j]` from the model, and the name of that output."""
    around, _, rest = fault.at.rpartition(".node[")
    body, node = fault.record_at(around), fault.record_at(fault.at.rpartition(".")[0])
    assert isinstance(body, GraphProto | FunctionProto) and isinstance(node, NodeProto), f"{fault.at}: {rest}"
    return body, node.output[int(fault.at.rpartition("[")[2].removesuffix("]"))]
