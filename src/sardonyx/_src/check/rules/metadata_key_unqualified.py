"""SX021 metadata-key-unqualified: a metadata key is a bare word that the standard does not define.

Clause: IR.md, "Other Metadata"
Catalogue: MET-02
Why:    bare words are kept for the standard; a later version may give this one a meaning.
Bad:    <metadata_props: ["flavour": "mild"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <metadata_props: ["com.example.flavour": "mild"]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import (
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    ValueInfoProto,
)
from sardonyx._src.proto.record import brief

STANDARD = frozenset("model_author model_license author company converted_from license license_url".split())


@rule(
    "SX021",
    "warning",
    visits=(ModelProto, GraphProto, NodeProto, FunctionProto, ValueInfoProto, TensorProto),
    needs="metadata_props",
    unless="SX002",
)
def metadata_key_unqualified(
    holder: ModelProto | GraphProto | NodeProto | FunctionProto | ValueInfoProto | TensorProto,
    context: Context,
) -> Iterator[Finding]:
    for i, entry in enumerate(holder.metadata_props):
        if "." not in entry.key.strip(".") and entry.key not in STANDARD:
            says = f"{brief(entry.key)} is no key of the standard, and not qualified by a domain"
            yield Finding(f"metadata_props[{i}].key", says, f'name it like "com.example.{entry.key[:40]}"')
