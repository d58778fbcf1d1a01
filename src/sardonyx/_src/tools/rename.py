"""`rename`: rename values, nodes, dims, functions and domains of a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Graph, Model, Node, Value
from sardonyx._src.ir.dims import Dim, from_param
from sardonyx._src.ir.model import FunctionKey, clone
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.schema import canonical, domains, versions
from sardonyx._src.suggestions import suggest
from sardonyx._src.tools.calls import main_graphs
from sardonyx._src.tools.imports import scopes
from sardonyx._src.tools.relabel import relabel_values, rename_functions
from sardonyx._src.tools.symbols import dim_names, substitute

Mapped = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Renaming:
    """New names by old names.

    inputs, outputs: of the main graph.
    values: of the main graph, its subgraphs and the training graphs.
    functions: in the form `domain.name` or `domain.name:overload`.
    graph: the new name of the main graph; "" keeps it.
    regex: whether the old names are regular expressions that match whole names; the new names may then refer to groups
        (`\\1`).
    """

    inputs: Mapped = field(default_factory=dict)
    outputs: Mapped = field(default_factory=dict)
    values: Mapped = field(default_factory=dict)
    nodes: Mapped = field(default_factory=dict)
    dims: Mapped = field(default_factory=dict)
    functions: Mapped = field(default_factory=dict)
    domains: Mapped = field(default_factory=dict)
    graph: str = ""
    regex: bool = False

    def changes_of(self, names: Iterable[str], mapping: Mapped, what: str) -> dict[str, str]:
        """The new name of each name that the mapping changes.

        Raises InputError for an old name that matches nothing, an empty new name and an invalid regular expression.
        """
        known = dict.fromkeys(name for name in names if name)
        changes: dict[str, str] = {}
        for old, new in mapping.items():
            matched = self.matches(old, new, known) if self.regex else {old: new}
            if not matched or not matched.keys() <= known.keys():
                hint = suggest(old, sorted(known), f"{what}s")
                raise InputError(f"the model has no {what} {old!r}{hint}", name=old)
            for name, changed in matched.items():
                if not changed or changes.setdefault(name, changed) != changed:
                    why = f"both {changes.get(name)!r} and {changed!r}" if changed else "nothing"
                    raise InputError(f"{what} {name!r} would become {why}; give it one name", name=name)
        return changes

    def matches(self, pattern: str, new: str, names: Iterable[str]) -> dict[str, str]:
        try:
            rule = re.compile(pattern)
            return {name: match.expand(new) for name in names if (match := rule.fullmatch(name))}
        except re.error as error:
            raise InputError(
                f"{pattern!r} to {new!r} is not a regular expression with a replacement: {error}",
                name=pattern,
            ) from None


def rename(model: Model, names: Renaming) -> Model:
    """Return a copy of the model with new names, to which all references are updated.

    Raises InputError for a name that the model lacks, and for a new name already in use.
    """
    result = clone(model)
    roots = main_graphs(result)
    rename_values(result, roots, names)
    rename_nodes(roots, names)
    rename_dims(roots, names)
    rename_functions(result, function_keys(result, names))
    rename_domains(result, names)
    result.graph.name = names.graph or result.graph.name
    return result


def rename_values(model: Model, roots: list[Graph], names: Renaming) -> None:
    """Rename values; a new name must be unused in all graphs, since both values may be visible to a node."""
    everywhere = [v for root in roots for graph in graphs(root) for v in values(graph)]
    new_names: dict[Value, str] = {}
    for candidates, mapping, what in (
        (model.graph.inputs, names.inputs, "input"),
        (model.graph.outputs, names.outputs, "output"),
        (everywhere, names.values, "value"),
    ):
        changes = names.changes_of((v.name for v in candidates), mapping, what)
        for value in candidates:
            if (
                value.name in changes
                and new_names.setdefault(value, changes[value.name]) != changes[value.name]
            ):
                why = f"would become both {new_names[value]!r} and {changes[value.name]!r}; give it one name"
                raise InputError(f"{what} {value.name!r} {why}", name=value.name)
    refuse_conflicts([(v.name, new_names.get(v, v.name)) for v in everywhere], "value")
    relabel_values(roots, new_names)


def rename_nodes(roots: list[Graph], names: Renaming) -> None:
    everywhere: list[Node] = [node for root in roots for node in nodes(root)]
    changes = names.changes_of((node.name for node in everywhere), names.nodes, "node")
    refuse_conflicts([(n.name, changes.get(n.name, n.name)) for n in everywhere if n.name], "node")
    for node in everywhere:
        node.name = changes.get(node.name, node.name)


def rename_dims(roots: list[Graph], names: Renaming) -> None:
    known = dim_names(roots)
    changes = names.changes_of(sorted(known), names.dims, "dim")
    refuse_conflicts([(name, changes.get(name, name)) for name in known], "dim")
    mapping: dict[str, Dim] = {old: from_param(new) for old, new in changes.items()}
    substitute(roots, mapping)


def refuse_conflicts(names: Iterable[tuple[str, str]], what: str) -> None:
    """Raise InputError if two of the (old, new) pairs end in the same new name."""
    origin: dict[str, str] = {}
    changed: dict[str, str] = {}
    for old, new in names:
        if origin.setdefault(new, old) != old:
            changed[new] = old
    for new, old in changed.items():
        renamed = old if old != new else origin[new]
        other = origin[new] if renamed == old else old
        why = f"{other!r} has that name" if other == new else f"{other!r} would have it too"
        raise InputError(f"{what} {renamed!r} cannot become {new!r}: {why}; choose another", name=new)


def function_keys(model: Model, names: Renaming) -> dict[FunctionKey, FunctionKey]:
    """The new keys of renamed functions; raises InputError for a key of an operator or another function."""
    labels = {
        label: f.key for f in model.functions.values() for label in (f.label, f.label.partition(":")[0])
    }
    changes = names.changes_of(labels, names.functions, "function")
    keys: dict[FunctionKey, FunctionKey] = {}
    for key, function in model.functions.items():
        bare = function.label.partition(":")[0]
        new = changes.get(function.label) or changes.get(bare)
        if new is not None:
            keys[key] = key_of(new, key)
    refuse_operators(keys)
    refuse_conflicts([(str(key), str(keys.get(key, key))) for key in model.functions], "function")
    return keys


def key_of(label: str, old: FunctionKey) -> FunctionKey:
    """The key for a label; the overload defaults to the old one."""
    path, colon, overload = label.partition(":")
    domain, _, name = path.rpartition(".")
    if not domain or not name:
        raise InputError(f"a function name must be DOMAIN.NAME, as in my.pkg.Gelu; got {label!r}", name=label)
    return canonical(domain), name, overload if colon else old[2]


def refuse_operators(keys: Mapping[FunctionKey, FunctionKey]) -> None:
    for _, (domain, name, _) in keys.items():
        if versions(domain, name):
            what = f"{domain or 'ai.onnx'}.{name} is an operator of ONNX; choose another name"
            raise InputError(what, name=name)


def rename_domains(model: Model, names: Renaming) -> None:
    """Rename domains other than ONNX's own, of functions, of nodes and in imports."""
    known = {domain for _, imports in scopes(model) for domain in imports} - set(domains())
    changes = names.changes_of(known, names.domains, "domain of its own")
    changes = {old: canonical(new) for old, new in changes.items()}
    for roots, imports in scopes(model):
        for old, new in changes.items():
            if new in imports and new not in changes and imports.get(old, imports[new]) != imports[new]:
                what = f"domain {old!r} is imported as version {imports[old]}, {new or 'ai.onnx'!r} as {imports[new]}"
                raise InputError(f"{what}; choose another name", name=old)
        renamed = {changes.get(domain, domain): version for domain, version in imports.items()}
        imports.clear()
        imports.update(renamed)
        for node in (node for root in roots for node in nodes(root)):
            node.domain = changes.get(node.domain, node.domain)
    keys = {key: (changes.get(key[0], key[0]), *key[1:]) for key in model.functions}
    refuse_operators({old: new for old, new in keys.items() if old != new})
    refuse_conflicts([(str(old), str(new)) for old, new in keys.items()], "function")
    for key, function in list(model.functions.items()):
        function.domain = keys[key][0]
    model.functions = {function.key: function for function in model.functions.values()}
