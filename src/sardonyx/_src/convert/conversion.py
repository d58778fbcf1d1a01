"""Conversion of models to other versions of operator sets and of the IR."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from sardonyx._src.arguments import require_integer, require_mapping, require_type
from sardonyx._src.convert.converter import Converter, bodies_of
from sardonyx._src.convert.dead_constants import referenced_values
from sardonyx._src.convert.ir_version import set_ir_version
from sardonyx._src.convert.known_elements import resolve_elements, training_states_as_inputs
from sardonyx._src.convert.vendor_operators import (
    OperatorName,
    replaced_domains,
    vendor_operators,
)
from sardonyx._src.convert.vendor_replacement import replace_operators
from sardonyx._src.errors import ConversionError, InferenceError, InputError
from sardonyx._src.infer.incremental import RejectionRecorder
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.infer.stated_types import all_values, clear_stated_types
from sardonyx._src.infer.walk import model_walk, run_walk
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model, Node
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.control.joins import drop_shape
from sardonyx._src.ops.registry import has_registered_operators
from sardonyx._src.schema import canonical, domains, latest, newest, vendor_domains


def convert(
    model: ModelSource,
    opset: int | None = None,
    *,
    sets: Mapping[str, int] | None = None,
    ir_version: int | str | None = None,
) -> Model:
    """Return a copy of the model with other versions of its operator sets and of the IR.

    opset: the version of ai.onnx.
    sets: versions of other operator sets by domain, as {"ai.onnx.ml": 3}; 0 for a vendor domain, as
    {"com.microsoft": 0}, replaces its operators, and vendors' operators in ai.onnx, by standard ones.
    ir_version: a number, "auto" for the lowest possible, or None to raise it only if necessary.

    Main graph, training graphs, subgraphs and functions are converted; names, documentation, metadata and weights are
    kept.

    Raises ConversionError, naming node, operator, version and reason, if a version cannot express a node;
    `sx.tools.convert_partially` keeps such nodes.  Raises InputError for an unknown version or a domain that is not
    imported, LimitError for graphs nested too deep.
    """
    return convert_model(model, opset, sets, ir_version, None)


def convert_model(
    model: ModelSource,
    opset: int | None,
    sets: Mapping[str, int] | None,
    ir_version: int | str | None,
    errors: list[ConversionError] | None,
) -> Model:
    """The converted copy.

    errors: if a list, it receives the errors of nodes that cannot be converted, which are outlined: moved into functions
    that import their old version.  If None, the first error is raised.
    """
    model = resolve_model(model)
    require_integer("opset", opset, optional=True)
    if sets is not None:
        require_mapping("sets", sets, str, (int, np.integer), "domains to versions")
    require_type("ir_version", ir_version, (int, str, type(None)), 'an integer, "auto" or None')
    versions_by_domain = targets(opset, sets or {})
    for domain in versions_by_domain:
        if domain not in domains():
            continue
        if domain and not bodies_of(model, domain):
            imported = ", ".join(d or "ai.onnx" for d in model.opset_imports) or "none"
            raise InputError(
                f"the model must import {domain or 'ai.onnx'}; its imports are {imported}", name="sets"
            )
        refuse_unknown_imports(model, domain)
    with pause_gc(), limit_nesting():
        result = clone(model)
        origins = {
            copy: original
            for pair in zip(roots(model), roots(result), strict=True)
            for original, copy in zip(*map(nodes, pair), strict=True)
        }
        replaced = set()
        if replaced_domains(versions_by_domain.items()):
            replaced = vendor_operators(result)
        convert_domains(result, versions_by_domain, errors, origins, replaced)
        set_ir_version(result, ir_version, errors)
    return result


def refuse_unknown_imports(model: Model, domain: str) -> None:
    """Raises ConversionError for an import of the domain that is newer than all known versions, or below 1."""
    highest = newest(domain)
    for scope in bodies_of(model, domain):
        if not 1 <= (version := scope.imports[domain]) <= highest:
            bound = "at least 1" if version < 1 else f"at most {highest}, the newest known version"
            what = f"imports of {domain or 'ai.onnx'} must be {bound}; got {version}"
            raise ConversionError(what, domain=domain, version=version, target=highest)


def convert_domains(
    model: Model,
    versions_by_domain: Mapping[str, int],
    errors: list[ConversionError] | None,
    origins: dict[Node, Node],
    replaced: Collection[OperatorName] = (),
) -> None:
    """Convert a model in place to these versions, domain by domain, and then replace operators by their bodies.

    Declared shapes of inner values are not used, since they may be stale.  The declared element types of outputs of
    unknown operators are used, since nothing else is known about them.

    errors: see `convert_model`.
    origins: for each node of the copy, the node of the original model, which messages name.
    replaced: the operators to replace by their bodies.
    """
    errors_found: list[InferenceError] = []
    recorder = RejectionRecorder()
    inference_state = InferenceState(model, errors_found, observer=recorder, trusts_formals=False)
    declared = {value: value.type for value in all_values(model)}
    clear_stated_types(model, drop_shape)
    with training_states_as_inputs(model):
        run_walk(model_walk(model, inference_state))
    inference_state.finalize()
    inference_state.observer = None
    resolve_elements(inference_state)
    referenced = referenced_values(model)
    default = versions_by_domain.get("", latest(""))
    try:
        for domain, version in versions_by_domain.items():
            for body in bodies_of(model, domain) if domain in domains() else ():
                converter = Converter(
                    inference_state, body, domain, default, errors, origins, referenced, recorder.errors
                )
                converter.run(version)
        for body in bodies_of(model) if replaced else ():
            converter = Converter(
                inference_state, body, "", default, errors, origins, referenced, recorder.errors
            )
            replace_operators(converter, replaced, target=default)
    finally:
        inference_state.restore()
        for value in all_values(model):
            value.type = declared.get(value, value.type)


def targets(opset: int | None, sets: Mapping[str, int]) -> dict[str, int]:
    """The target version of each domain; raises InputError for versions that do not exist."""
    versions_by_domain = {canonical(domain): v for domain, v in sets.items()}
    if opset is not None and versions_by_domain.setdefault("", opset) != opset:
        raise InputError(
            f"one version of ai.onnx must be requested; got {opset} and {versions_by_domain['']}",
            name="opset",
        )
    for domain, version in versions_by_domain.items():
        shown = domain or "ai.onnx"
        if domain in vendor_domains() and version in (0, latest(domain)):
            continue
        if version == 0 and has_registered_operators(domain):
            continue
        if domain not in domains():
            known = ", ".join(d or "ai.onnx" for d in (*domains(), *vendor_domains()))
            raise InputError(f"an operator set must be one of {known}; got {shown}", name="sets")
        if not 1 <= version <= newest(domain):
            raise InputError(
                f"the version of {shown} must be in 1 to {newest(domain)}; got {version}", name="opset"
            )
    return versions_by_domain


def expand_vendor_operators(
    model: Model, selected: Collection[OperatorName] | None = None
) -> list[ConversionError]:
    """Replace vendors' operators, or the selected ones, by their bodies, in place; returns an error for each that stays."""
    selected = vendor_operators(model) if selected is None else selected
    errors: list[ConversionError] = []
    if selected:
        with pause_gc(), limit_nesting():
            convert_domains(model, {}, errors, {}, selected)
    return errors
