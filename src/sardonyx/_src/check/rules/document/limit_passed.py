"""SX008 limit-passed: the document exceeds a limit that protects the reader.

Clause: none of ONNX; sardonyx.Limits
Catalogue: -
Why:    a small file can be crafted to exhaust the memory or the stack of its reader.  An example `deep N` has
        sequences nested N deep.  Tensors and shapes have at most 1024 dims.
Bad:    deep 300
Good:   deep 3
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.io.serde.types import MAX_RANK
from sardonyx._src.proto.messages import TensorProto, TensorShapeProto


@rule("SX008", visits=(TensorProto, TensorShapeProto), cached_by_fingerprint=True)
def check_limit_passed(record: TensorProto | TensorShapeProto, context: RuleContext) -> Iterator[Finding]:
    """Other limits are reported while decoding, before there is a record to visit."""
    field, rank = ("dims", len(record.dims)) if isinstance(record, TensorProto) else ("dim", len(record.dim))
    if rank > MAX_RANK:
        what = f"a tensor must have at most {MAX_RANK} dims; got {rank}"
        yield Finding(field, what, "no array has that many axes: correct the file")
