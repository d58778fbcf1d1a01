"""raise-ir-version: sets a missing or too low ir_version to the lowest version with all features in use.

Keeps: the import of version 1 of the ONNX set that versions 1 and 2 imply.
Leaves: models of versions up to 3 in which two declarations use the same dimension variable, or an input of a nested
graph has an initializer, since both have another meaning from version 4 on.
"""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.check.analysis.reads import graphs_of
from sardonyx._src.check.engine.body import imports_of
from sardonyx._src.check.engine.document import Document
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.check.engine.walk import Walk, group_by_class
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.check.records.names import variables_in
from sardonyx._src.io.serde.from_proto import LATEST_IR_VERSION
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import first_ir_version

MODEL_WIDE_DIMS_VERSION = 4  # first version in which dimension variables are shared by the whole model
FIXED_CODES = (
    "SX038 SX050 SX051 SX052 SX053 SX054 SX055 SX056 SX057 SX058 SX059 SX060 SX061 SX062 SX122 SX241"
)
LACKING_CODES = (
    *FIXED_CODES.split(),
    "SX216",
)  # rules on features that a version lacks; the last is fixed together with SX038 or not at all
VersionedRecord = m.ModelProto | m.OperatorSetProto


@fix(FIXED_CODES)
def raise_ir_version(violation: Violation) -> str:
    record = violation.document.record
    old = violation.document.ir_version
    if (
        not isinstance(record, VersionedRecord)
        or record.ir_version != old
        or old not in range(1, LATEST_IR_VERSION)
    ):
        return ""
    if not violation.fix_pass.is_new("raise", record):
        return ""
    new = lowest(violation.document, old)
    if new is None or new == old or (old < MODEL_WIDE_DIMS_VERSION <= new and not means_the_same(record)):
        return ""
    record.ir_version = new
    if isinstance(record, m.ModelProto) and old < 3 <= new and not record.opset_import:
        record.opset_import = [m.OperatorSetIdProto(domain="", version=1)]
    return f"raised ir_version from {old} to {new}"


@fix("SX010 SX601")
def state_ir_version(violation: Violation) -> str:
    record = violation.document.record
    assert isinstance(record, VersionedRecord), f"{violation.code} visits models and operator-set documents"
    if record.ir_version:
        return ""
    new = lowest(violation.document, max(MODEL_WIDE_DIMS_VERSION, release_version(record)))
    if new is None:
        return ""
    record.ir_version = new
    return f"set ir_version to {new}, the lowest with all features in use"


def lowest(document: Document, start: int) -> int | None:
    """The lowest version from `start` on with all features that the document uses."""
    lacking = [rules()[code] for code in LACKING_CODES]
    for version in range(start, LATEST_IR_VERSION + 1):
        candidate = Document(document.record, document.path, document.policy, document.declared)
        candidate.ir_version = version
        if not Walk(candidate, group_by_class(lacking, version), use_clean_cache=False).run():
            return version
    return None


def release_version(record: VersionedRecord) -> int:
    """The IR version of the first release with all imported operator sets; 1 if there is none."""
    imports = imports_of(record.opset_import) if isinstance(record, m.ModelProto) else {}
    return max((first_ir_version(domain, version) for domain, version in imports.items()), default=1)


def means_the_same(record: VersionedRecord) -> bool:
    """Whether a model of an early version means the same from version 4 on."""
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
    items = list(names)
    return len(set(items)) < len(items)
