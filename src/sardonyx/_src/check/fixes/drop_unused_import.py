"""drop-unused-import: the import of an operator set of which there is no node is dropped.

Leaves: the domains of the model's own functions, whoever calls them, and an import that stands alone.
"""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import OperatorSetIdProto
from sardonyx._src.schema import canonical


@fix("SX904")
def drop_unused_import(fault: Fault) -> str:
    entries, index = fault.entry()
    one = entries[index]
    assert isinstance(one, OperatorSetIdProto), "the path leads to an import"
    if len(entries) == 1 or any(domain == canonical(one.domain) for domain, _, _ in fault.document.functions):
        return ""
    del entries[index]
    return f"dropped the import of {one.domain!r} {one.version}"
