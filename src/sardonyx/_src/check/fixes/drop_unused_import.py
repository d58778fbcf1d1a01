"""drop-unused-import: drops the import of an operator set that no node uses.

Leaves: the domains of the model's own functions, and the only import of a model or function.
"""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import OperatorSetIdProto
from sardonyx._src.schema import canonical


@fix("SX904")
def drop_unused_import(violation: Violation) -> str:
    entries, index = violation.entry()
    opset = entries[index]
    assert isinstance(opset, OperatorSetIdProto), "the path leads to an import"
    if len(entries) == 1 or any(
        domain == canonical(opset.domain) for domain, _, _ in violation.document.functions
    ):
        return ""
    del entries[index]
    return f"dropped the import of {opset.domain!r} {opset.version}"
