"""add-import: a missing import, or the missing version of one, is added where only one meaning is left.

One meaning is left where the operators in use are the same in every version that has them all, and where functions of
the model itself stand behind all nodes of the domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.check.bodies import Identity, imports_of
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.reading import called_by, graphs_of
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import canonical, domains, latest, lookup, releases

Importing = m.ModelProto | m.FunctionProto


@fix("SX031")
def import_default(fault: Fault) -> str:
    """No node uses the ONNX set, as another rule would have said; the version is the newest of the IR version's time."""
    model = fault.the(m.ModelProto)
    known = [r.opsets.get("", 0) for r in releases() if r.ir_version <= fault.document.ir_version]
    return add(model, "", max(known, default=1))


@fix("SX030 SX032")
def import_used(fault: Fault) -> str:
    model = fault.document.model
    holder: Importing | None = fault.body.function if fault.code == "SX032" else None
    holder = holder or model
    if holder is None or (holder is model and model.ir_version and model.ir_version < 3):
        return ""
    used = sorted({domain for domain, _, _ in operators_of(holder)} - imports_of(holder.opset_import).keys())
    versions = {domain: only_version(fault, holder, domain) for domain in used}
    if not used or None in versions.values():
        return ""
    done = [add(holder, domain, version) for domain, version in versions.items() if version]
    return " and ".join(done)


@fix("SX033")
def state_version(fault: Fault) -> str:
    one = fault.the(m.OperatorSetIdProto)
    holder = fault.around(m.FunctionProto) or fault.document.model
    if holder is None or sum(canonical(o.domain) == canonical(one.domain) for o in holder.opset_import) > 1:
        return ""
    version = only_version(fault, holder, canonical(one.domain))
    if version is None:
        return ""
    one.version = version
    return f"set the version to {version}"


def add(holder: Importing, domain: str, version: int) -> str:
    holder.opset_import = [*holder.opset_import, m.OperatorSetIdProto(domain=domain, version=version)]
    return f"imported {domain or 'ai.onnx'!r} {version}"


def operators_of(holder: Importing) -> Iterator[Identity]:
    """Domain, name and overload of what the nodes that go by these imports use."""
    if isinstance(holder, m.FunctionProto):
        yield from called_by(holder)
        return
    for path, graph in graphs_of(holder):
        if not path.startswith("functions["):
            for node in graph.node:
                yield canonical(node.domain), node.op_type, node.overload


def only_version(fault: Fault, holder: Importing, domain: str) -> int | None:
    """The version of a domain that its nodes must mean: the model's own where that is one of several that are equal."""
    used = {one for one in operators_of(holder) if one[0] == domain}
    elsewhere = [imports_of(other.opset_import).get(domain, 0) for other in importing(fault)]
    stated = max(elsewhere, default=0)
    if used and all(one in fault.document.functions for one in used):
        return stated or 1
    if domain not in domains():
        return None
    signatures = {
        version: [lookup(domain, name, version) for _, name, _ in sorted(used)]
        for version in range(1, latest(domain) + 1)
    }
    fitting = {
        version: [one.since_version for one in found if one is not None]
        for version, found in signatures.items()
        if all(one is not None and not one.deprecated for one in found)
    }
    if not fitting or any(found != next(iter(fitting.values())) for found in fitting.values()):
        return None
    return stated if stated in fitting else min(fitting)


def importing(fault: Fault) -> Sequence[Importing]:
    model = fault.document.model
    return [model, *model.functions] if model is not None else []
