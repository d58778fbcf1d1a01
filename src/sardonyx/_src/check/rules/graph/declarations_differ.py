"""SX137 declarations-differ: an output or value_info entry contradicts the type of an input or initializer.

Clause: IR.md, "Graphs"
Catalogue: GRA-18
Why:    both describe one value, which has one type.
Bad:    g (float[2] x) => (float[2] y, float[3] x) { y = Abs (x) }
Good:   g (float[2] x) => (float[2] y, float[2] x) { y = Abs (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.declared_types import contradiction, type_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import variables_in
from sardonyx._src.io.serde.types import MAX_RANK
from sardonyx._src.proto.messages import GraphProto, TypeProto
from sardonyx._src.proto.record import brief


@rule("SX137", visits=GraphProto, suppressed_by="SX117 SX300 SX301 SX302 SX360 SX361 SX362 SX363 SX364 SX365")
def check_declarations_differ(graph: GraphProto, context: RuleContext) -> Iterator[Finding]:
    declared = {value.name for value in (*graph.output, *graph.value_info)}
    tensors = (tensor for tensor in graph.initializer if tensor.name in declared)
    known: dict[str, TypeProto] = {t.name: type_of(t) for t in tensors if len(t.dims) <= MAX_RANK}
    known |= {value.name: value.type for value in graph.input if value.type is not None}
    if not known:
        return
    model = context.document.model
    domain = model.domain if model is not None else ""
    for field, values in (("output", graph.output), ("value_info", graph.value_info)):
        for i, value in enumerate(values):
            own = known.get(value.name)
            if own is None or value.type is None:
                continue
            if context.ir_version <= 3 and "*" in (*variables_in(own), *variables_in(value.type)):
                continue  # any number of dimensions
            why = contradiction(value.type, own, domain)
            if why:
                message = f"{brief(value.name)} is an input or initializer of another type: {why}"
                yield Finding(f"{field}[{i}].type", message, "make the two declarations agree")
