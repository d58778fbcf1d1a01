"""SX208 output-not-computed: a node has an optional output that the operator does not compute in this mode.

Clause: IR.md, "Optional Inputs and Outputs"; Operators.md, BatchNormalization, Dropout
Catalogue: NOD-16
Why:    batch statistics exist only in training; before version 7, so does the mask of Dropout.
Bad:    g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y, float[2] m) { y, m = BatchNormalization (x, v, v, v, v) }
Good:   g (float[1, 2, 3] x, float[2] v) => (float[1, 2, 3] y) { y = BatchNormalization (x, v, v, v, v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto

# Operator and version -> the attribute that enables training, and its value for that.  BatchNormalization-7 and -9
# have no such attribute: they train if these outputs have names.
TRAINING_ATTRIBUTES = {
    **{("BatchNormalization", version): ("is_test", 0) for version in (1, 6)},
    **{("BatchNormalization", version): ("training_mode", 1) for version in (14, 15)},
    **{("Dropout", version): ("is_test", 0) for version in (1, 6)},
}


@rule("SX208", visits=NodeProto, cached_by_fingerprint=True)
def check_output_not_computed(node: NodeProto, context: RuleContext) -> Iterator[Finding]:
    if node.op_type not in ("BatchNormalization", "Dropout"):
        return
    schema = context.schema
    training_attribute = (
        TRAINING_ATTRIBUTES.get((schema.name, schema.since_version)) if schema is not None else None
    )
    if schema is None or schema.domain or training_attribute is None:
        return
    mode, trains = training_attribute
    attributes = {attribute.name: attribute for attribute in node.attribute}
    attribute = attributes.get(mode)
    if attribute is not None and attribute.ref_attr_name:
        return
    named = [slot for slot, name in enumerate(node.output) if slot and name]
    if named and (attribute.i if attribute is not None else 0) != trains:
        message = f"with {mode} = {1 - trains} the operator does not compute {schema.outputs[named[0]].name}"
        yield Finding(f"output[{named[0]}]", message, f"drop the output, or set {mode} to {trains}")
