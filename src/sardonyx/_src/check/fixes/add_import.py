"""add-import: adds a missing import, or the missing version of one, if it is unambiguous.

It is unambiguous if the operators in use are the same in every version that has them all, or if all nodes of the domain
call functions of the model itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.check.analysis.reads import called_by, graphs_of
from sardonyx._src.check.engine.body import Identity, imports_of
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import canonical, domains, lookup, newest, releases

Importing = m.ModelProto | m.FunctionProto


@fix("SX031")
def import_default(violation: Violation) -> str:
    """No node uses the ONNX set (another rule reports that); adds the newest version released with the IR version."""
    model = violation.visited_record(m.ModelProto)
    known = [r.opsets.get("", 0) for r in releases() if r.ir_version <= violation.document.ir_version]
    return add(model, "", max(known, default=1))


@fix("SX030 SX032")
def import_used_domains(violation: Violation) -> str:
    model = violation.document.model
    holder: Importing | None = violation.body.function if violation.code == "SX032" else None
    holder = holder or model
    if holder is None or (holder is model and model.ir_version and model.ir_version < 3):
        return ""
    used = sorted({domain for domain, _, _ in operators_of(holder)} - imports_of(holder.opset_import).keys())
    versions = {domain: only_version(violation, holder, domain) for domain in used}
    if not used or None in versions.values():
        return ""
    descriptions = [add(holder, domain, version) for domain, version in versions.items() if version]
    return " and ".join(descriptions)


@fix("SX033")
def state_version(violation: Violation) -> str:
    opset = violation.visited_record(m.OperatorSetIdProto)
    holder = violation.enclosing(m.FunctionProto) or violation.document.model
    if holder is None or sum(canonical(o.domain) == canonical(opset.domain) for o in holder.opset_import) > 1:
        return ""
    version = only_version(violation, holder, canonical(opset.domain))
    if version is None:
        return ""
    opset.version = version
    return f"set the version to {version}"


def add(holder: Importing, domain: str, version: int) -> str:
    holder.opset_import = [*holder.opset_import, m.OperatorSetIdProto(domain=domain, version=version)]
    return f"imported {domain or 'ai.onnx'!r} {version}"


def operators_of(holder: Importing) -> Iterator[Identity]:
    """The operator identities of the nodes that these imports apply to."""
    if isinstance(holder, m.FunctionProto):
        yield from called_by(holder)
        return
    for path, graph in graphs_of(holder):
        if not path.startswith("functions["):
            for node in graph.node:
                yield canonical(node.domain), node.op_type, node.overload


def only_version(violation: Violation, holder: Importing, domain: str) -> int | None:
    """The only version of a domain that fits its nodes; of several equivalent ones, that stated elsewhere in the model."""
    used = {opset for opset in operators_of(holder) if opset[0] == domain}
    versions_elsewhere = [imports_of(other.opset_import).get(domain, 0) for other in importing(violation)]
    stated = max(versions_elsewhere, default=0)
    if used and all(opset in violation.document.functions for opset in used):
        return stated or 1
    if domain not in domains():
        return None
    signatures = {
        version: [lookup(domain, name, version) for _, name, _ in sorted(used)]
        for version in range(1, newest(domain) + 1)
    }
    candidates = {
        version: [opset.since_version for opset in since_versions if opset is not None]
        for version, since_versions in signatures.items()
        if all(opset is not None and not opset.deprecated for opset in since_versions)
    }
    if not candidates or any(
        since_versions != next(iter(candidates.values())) for since_versions in candidates.values()
    ):
        return None
    return stated if stated in candidates else min(candidates)


def importing(violation: Violation) -> Sequence[Importing]:
    model = violation.document.model
    return [model, *model.functions] if model is not None else []
