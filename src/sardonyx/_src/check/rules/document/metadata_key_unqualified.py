"""SX021 metadata-key-unqualified: a metadata key is unqualified, but not defined by the standard.

Clause: IR.md, "Other Metadata"
Catalogue: MET-02
Why:    unqualified keys are reserved for the standard; a later version may define this one.
Bad:    <metadata_props: ["flavour": "mild"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <metadata_props: ["com.example.flavour": "mild"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)
from sardonyx._src.proto.record import brief

STANDARD_KEYS = frozenset(
    "model_author model_license author company converted_from license license_url".split()
)


@rule(
    "SX021",
    "warning",
    visits=(ModelProto, GraphProto, NodeProto, FunctionProto, ValueInfoProto, TensorProto),
    needs="metadata_props",
    suppressed_by="SX002",
    group="strict",
)
def check_metadata_key_unqualified(
    holder: ModelProto | GraphProto | NodeProto | FunctionProto | ValueInfoProto | TensorProto,
    context: RuleContext,
) -> Iterator[Finding]:
    for i, entry in enumerate(holder.metadata_props):
        if "." not in entry.key.strip(".") and entry.key not in STANDARD_KEYS:
            message = f"{brief(entry.key)} is not a key of the standard, and not qualified by a domain"
            yield Finding(f"metadata_props[{i}].key", message, f'name it like "com.example.{entry.key[:40]}"')
