"""raise-ir-version: a missing ir_version, or one too low for what is used, becomes the lowest that has all of it.

Keeps: what version 1 or 2 means by leaving imports out, which is version 1 of the ONNX set.
Leaves: models of versions up to 3 in which one dimension variable stands in two declarations, or an input of a nested
graph has an initializer, as both mean something else from version 4 on.
"""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.check.bodies import imports_of
from sardonyx._src.check.context import Document
from sardonyx._src.check.engine import Walk, by_class
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.names import variables_in
from sardonyx._src.check.pages import rules
from sardonyx._src.check.reading import graphs_of
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import releases

NEWEST = int(max(m.Version))
GLOBAL_NAMES = 4  # the version from which on names of dimensions hold for the whole model
MENDED = "SX038 SX050 SX051 SX052 SX053 SX054 SX055 SX056 SX057 SX058 SX059 SX060 SX061 SX062 SX122 SX241"
LACKING = (
    *MENDED.split(),
    "SX216",
)  # faults of a version that lacks something; the last comes with SX038 or is left
Versioned = m.ModelProto | m.OperatorSetProto


@fix(MENDED)
def raise_ir_version(fault: Fault) -> str:
    record = fault.document.record
    old = fault.document.ir_version
    if not isinstance(record, Versioned) or record.ir_version != old or old not in range(1, NEWEST):
        return ""
    if not fault.round.is_new("raise", record):
        return ""
    new = lowest(fault.document, old)
    if new is None or new == old or (old < GLOBAL_NAMES <= new and not means_the_same(record)):
        return ""
    record.ir_version = new
    if isinstance(record, m.ModelProto) and old < 3 <= new and not record.opset_import:
        record.opset_import = [m.OperatorSetIdProto(domain="", version=1)]
    return f"raised ir_version from {old} to {new}"


@fix("SX010 SX601")
def state_ir_version(fault: Fault) -> str:
    record = fault.document.record
    assert isinstance(record, Versioned), f"{fault.code} is about models and operator-set documents"
    if record.ir_version:
        return ""
    new = lowest(fault.document, max(GLOBAL_NAMES, published(record)))
    if new is None:
        return ""
    record.ir_version = new
    return f"set ir_version to {new}, the lowest that has what is used"


def lowest(document: Document, start: int) -> int | None:
    """The lowest version from `start` on that lacks nothing that the document uses."""
    asked = [rules()[code] for code in LACKING]
    for version in range(start, NEWEST + 1):
        tried = Document(document.record, document.path, document.policy, document.declared)
        tried.ir_version = version
        if not Walk(tried, by_class(asked, version), forms=False).run():
            return version
    return None


def published(record: Versioned) -> int:
    """The IR version of the first release with all imported operator sets; 1 where they are of no release."""
    imports = imports_of(record.opset_import) if isinstance(record, m.ModelProto) else {}
    return max((first_with(domain, version) for domain, version in imports.items()), default=1)


def first_with(domain: str, version: int) -> int:
    return min((r.ir_version for r in releases() if r.opsets.get(domain, 0) >= version), default=1)


def means_the_same(record: Versioned) -> bool:
    """Whether nothing in a model of an early version means something else from version 4 on."""
    if not isinstance(record, m.ModelProto):
        return True
    for path, graph in graphs_of(record):
        values = [*graph.input, *graph.output, *graph.value_info]
        if repeats(name for value in values for name in set(variables_in(value.type))):
            return False
        if path.count(".node[") and {v.name for v in graph.input} & {t.name for t in graph.initializer}:
            return False
    return True


def repeats(names: Iterable[str]) -> bool:
    found = list(names)
    return len(set(found)) < len(found)
