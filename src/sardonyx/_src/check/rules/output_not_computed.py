"""SX208 output-not-computed: a node names an optional output that the operator does not compute in this mode.

Clause: IR.md, "Optional Inputs and Outputs"; Operators.md, BatchNormalization, Dropout
Catalogue: NOD-16
Why:    statistics of the batch exist in training only; before version 7, so does the mask of Dropout.
Bad:    g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y, float[2] m) { y, m = BatchNormalization (x, v, v, v, v) }
Good:   g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y) { y = BatchNormalization (x, v, v, v, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto

# Operator and version -> the attribute that says whether it trains, and its value then.  BatchNormalization-7 and -9
# have no mode: they train where these outputs are named.
MODES = {
    **{("BatchNormalization", version): ("is_test", 0) for version in (1, 6)},
    **{("BatchNormalization", version): ("training_mode", 1) for version in (14, 15)},
    **{("Dropout", version): ("is_test", 0) for version in (1, 6)},
}


@rule("SX208", visits=NodeProto, by_form=True)
def output_not_computed(node: NodeProto, context: Context) -> Iterator[Finding]:
    if node.op_type not in ("BatchNormalization", "Dropout"):
        return
    schema = context.schema
    found = MODES.get((schema.name, schema.since_version)) if schema is not None else None
    if schema is None or schema.domain or found is None:
        return
    mode, trains = found
    attributes = {one.name: one for one in node.attribute}
    one = attributes.get(mode)
    if one is not None and one.ref_attr_name:
        return
    named = [slot for slot, name in enumerate(node.output) if slot and name]
    if named and (one.i if one is not None else 0) != trains:
        says = f"with {mode} = {1 - trains} there is no {schema.outputs[named[0]].name}"
        yield Finding(f"output[{named[0]}]", says, f"drop the output, or set {mode} to {trains}")
