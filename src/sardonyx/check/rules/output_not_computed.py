"""SX208 output-not-computed: a node names an optional output that the operator does not compute in this mode.

Clause: IR.md, "Optional Inputs and Outputs"; Operators.md, BatchNormalization
Catalogue: NOD-16
Why:    statistics of the batch exist in training only.
Bad:    g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y, float[2] m) { y, m = BatchNormalization (x, v, v, v, v) }
Good:   g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y) { y = BatchNormalization (x, v, v, v, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx.check.api import Finding, rule
from sardonyx.check.context import Context
from sardonyx.proto.messages import NodeProto


@rule("SX208", visits=NodeProto)
def output_not_computed(node: NodeProto, context: Context) -> Iterator[Finding]:
    if node.op_type != "BatchNormalization":
        return
    schema = context.schema
    if schema is None or schema.since_version not in (1, 6, 14, 15):
        return  # versions 7 and 9 have no mode: they train where these outputs are named
    attributes = {one.name: one for one in node.attribute}
    mode, trains = ("is_test", 0) if schema.since_version < 7 else ("training_mode", 1)
    one = attributes.get(mode)
    if one is not None and one.ref_attr_name:
        return
    named = [slot for slot, name in enumerate(node.output) if slot and name]
    if named and (one.i if one is not None else 0) != trains:
        says = f"with {mode} = {1 - trains} there is no {schema.outputs[named[0]].name}"
        yield Finding(f"output[{named[0]}]", says, f"drop the output, or set {mode} to {trains}")
