"""Adding the functions of operator sets to a model, from given documents and from documents on the search path."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.loading.operator_set_path import (
    SetKey,
    find_operator_sets,
    split_sources,
    versions_beside,
)
from sardonyx._src.io.loading.operator_sets import OperatorSetSource, load_operator_set
from sardonyx._src.io.serde import from_proto
from sardonyx._src.ir import Graph, Model
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.operator_set import OperatorSet
from sardonyx._src.ir.walk import nodes
from sardonyx._src.schema import domains

log = logging.getLogger(__name__)


def with_operator_sets(model: Model, sources: Iterable[OperatorSetSource]) -> Model:
    """The model, with the functions of the operator sets that it or one of its functions imports.

    sources: documents, and folders, which are searched by domain and version.  Functions of the model take precedence,
    then functions of given documents.  A document in a folder with another version than the imported one is noted and
    logged as a warning.  Raises InvalidModel if the model imports another version of a given document's set, and the
    errors of `find_operator_sets`.
    """
    documents, folders = split_sources(sources)
    waiting = [load_operator_set(source) for source in documents]
    searched: set[SetKey] = set()
    while True:
        ready = [operator_set for operator_set in waiting if is_imported(operator_set, model)]
        for operator_set in ready:
            waiting.remove(operator_set)
            attach(operator_set, model)
        requested = missing_sets(model) - searched if folders and not ready else set()
        if not ready and not requested:
            break
        searched |= requested
        for operator_set in find_operator_sets(requested, folders).values():
            attach(operator_set, model)
    if folders and (missing := missing_sets(model)):
        note_other_versions(model, missing, folders)
    if documents or searched:
        from_proto.refuse_recursion(model)
    return model


def note_other_versions(model: Model, missing: set[SetKey], folders: Sequence[Path]) -> None:
    """Notes, and logs as warnings, the documents of missing sets that have another version than the imported one."""
    for (domain, imported), version, folder in versions_beside(missing, folders):
        if version != imported:
            what = f"the model imports version {imported} of {domain!r}; {folder} has version {version}, which is not used"
            model.notes.append(Note("operator_sets", what))
            log.warning("%s", what)


def attach(operator_set: OperatorSet, model: Model) -> None:
    for function in operator_set.functions:
        model.functions.setdefault(function.key, function)


def is_imported(operator_set: OperatorSet, model: Model) -> bool:
    """Whether the model or one of its functions imports the set; raises InvalidModel for another version of it."""
    importers = (model.opset_imports, *(f.opset_imports for f in model.functions.values()))
    imported = {imports[operator_set.domain] for imports in importers if operator_set.domain in imports}
    if others := imported - {operator_set.version}:
        what = f"the operator set {operator_set.domain!r} must be of the imported version {min(others)}"
        what += f"; got {operator_set.version}"
        raise InvalidModel(what, location="operator_sets")
    return bool(imported)


def missing_sets(model: Model) -> set[SetKey]:
    """Domain and imported version of the operators that neither ONNX nor a function of the model defines."""
    return {
        (node.domain, imports[node.domain])
        for imports, graphs in scopes(model)
        for graph in graphs
        for node in nodes(graph)
        if node.domain in imports
        and node.domain not in domains()
        and (node.domain, node.op_type, node.overload) not in model.functions
    }


def scopes(model: Model) -> Iterator[tuple[Mapping[str, int], Sequence[Graph]]]:
    """The imports and graphs of the model, then the imports and body of each function."""
    training = [g for step in model.training for g in (step.initialization, step.algorithm) if g is not None]
    yield model.opset_imports, [model.graph, *training]
    for function in model.functions.values():
        yield function.opset_imports, [function.body]
