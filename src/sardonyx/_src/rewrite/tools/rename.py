"""Other names for values, nodes, dims, functions and domains of a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sardonyx._src.errors import InputError
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.dims import Dim, from_param
from sardonyx._src.ir.graph import FunctionKey, Graph, Model, Node, Value
from sardonyx._src.ir.walk import graphs, nodes, values
from sardonyx._src.rewrite.tools.calls import main_graphs
from sardonyx._src.rewrite.tools.imports import scopes
from sardonyx._src.rewrite.tools.lookup import near
from sardonyx._src.rewrite.tools.relabel import relabel_values, rename_functions
from sardonyx._src.rewrite.tools.symbols import names_in, substitute
from sardonyx._src.schema import canonical, domains, versions

Mapped = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Renaming:
    """New names by old ones.

    `values` are of the main graph, its subgraphs and the training graphs, `inputs` and `outputs` of the main graph
    alone; `functions` are written `domain.name` or `domain.name:overload`.  With `regex` the old names are regular
    expressions that match whole names, and the new ones may refer to groups (`\\1`).
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

    def chosen(self, names: Iterable[str], mapping: Mapped, what: str) -> dict[str, str]:
        """The new names of those of the names that the mapping changes.

        Raises InputError for an old name that matches nothing, an empty new one, and what is no regular expression.
        """
        known = dict.fromkeys(name for name in names if name)
        found: dict[str, str] = {}
        for old, new in mapping.items():
            changes = self.matches(old, new, known) if self.regex else {old: new}
            if not changes or not changes.keys() <= known.keys():
                raise InputError(f"the model has no {what} {old!r}{near(old, known)}", name=old)
            for name, changed in changes.items():
                if not changed or found.setdefault(name, changed) != changed:
                    why = f"both {found.get(name)!r} and {changed!r}" if changed else "nothing"
                    raise InputError(f"{what} {name!r} would become {why}; give it one name", name=name)
        return found

    def matches(self, pattern: str, new: str, names: Iterable[str]) -> dict[str, str]:
        try:
            rule = re.compile(pattern)
            return {name: match.expand(new) for name in names if (match := rule.fullmatch(name))}
        except re.error as error:
            raise InputError(
                f"{pattern!r} to {new!r} is no regular expression: {error}", name=pattern
            ) from None


def rename(model: Model, names: Renaming) -> Model:
    """A copy of the model with other names; whatever refers to an old one by name refers to the new one.

    Raises InputError for a name that the model does not have, and for a new name that is taken.
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
    """Renames values; a taken name is refused wherever in the graphs it is, since some reader might see both."""
    everywhere = [v for root in roots for graph in graphs(root) for v in values(graph)]
    found: dict[Value, str] = {}
    for candidates, mapping, what in (
        (model.graph.inputs, names.inputs, "input"),
        (model.graph.outputs, names.outputs, "output"),
        (everywhere, names.values, "value"),
    ):
        changes = names.chosen((v.name for v in candidates), mapping, what)
        for value in candidates:
            if value.name in changes and found.setdefault(value, changes[value.name]) != changes[value.name]:
                why = f"would become both {found[value]!r} and {changes[value.name]!r}; give it one name"
                raise InputError(f"{what} {value.name!r} {why}", name=value.name)
    refuse_taken([(v.name, found.get(v, v.name)) for v in everywhere], "value")
    relabel_values(roots, found)


def rename_nodes(roots: list[Graph], names: Renaming) -> None:
    everywhere: list[Node] = [node for root in roots for node in nodes(root)]
    changes = names.chosen((node.name for node in everywhere), names.nodes, "node")
    refuse_taken([(n.name, changes.get(n.name, n.name)) for n in everywhere if n.name], "node")
    for node in everywhere:
        node.name = changes.get(node.name, node.name)


def rename_dims(roots: list[Graph], names: Renaming) -> None:
    known = names_in(roots)
    changes = names.chosen(sorted(known), names.dims, "dim")
    refuse_taken([(name, changes.get(name, name)) for name in known], "dim")
    mapping: dict[str, Dim] = {old: from_param(new) for old, new in changes.items()}
    substitute(roots, mapping)


def refuse_taken(names: Iterable[tuple[str, str]], what: str) -> None:
    """Raises InputError when two names, given as old and new ones, would become the same."""
    origin: dict[str, str] = {}
    changed: dict[str, str] = {}
    for old, new in names:
        if origin.setdefault(new, old) != old:
            changed[new] = old
    for new, old in changed.items():
        moved = old if old != new else origin[new]
        other = origin[new] if moved == old else old
        why = f"{other!r} has that name" if other == new else f"{other!r} would have it too"
        raise InputError(f"{what} {moved!r} cannot become {new!r}: {why}; choose another", name=new)


def function_keys(model: Model, names: Renaming) -> dict[FunctionKey, FunctionKey]:
    """The new keys of the functions that change; one that an operator or another function has is refused."""
    labels = {
        label: f.key for f in model.functions.values() for label in (f.label, f.label.partition(":")[0])
    }
    changes = names.chosen(labels, names.functions, "function")
    found: dict[FunctionKey, FunctionKey] = {}
    for key, function in model.functions.items():
        bare = function.label.partition(":")[0]
        new = changes.get(function.label) or changes.get(bare)
        if new is not None:
            found[key] = key_of(new, key)
    refuse_operators(found)
    refuse_taken([(str(key), str(found.get(key, key))) for key in model.functions], "function")
    return found


def key_of(label: str, old: FunctionKey) -> FunctionKey:
    """The key that a label means; without an overload the old one."""
    path, colon, overload = label.partition(":")
    domain, _, name = path.rpartition(".")
    if not domain or not name:
        raise InputError(f"{label!r} names no function: DOMAIN.NAME is wanted, as in my.pkg.Gelu", name=label)
    return canonical(domain), name, overload if colon else old[2]


def refuse_operators(keys: Mapping[FunctionKey, FunctionKey]) -> None:
    for _, (domain, name, _) in keys.items():
        if versions(domain, name):
            what = f"{domain or 'ai.onnx'}.{name} is an operator of ONNX; choose another name"
            raise InputError(what, name=name)


def rename_domains(model: Model, names: Renaming) -> None:
    """Renames domains that are not ONNX's own: of functions, of nodes and in imports."""
    known = {domain for _, imports in scopes(model) for domain in imports} - set(domains())
    changes = names.chosen(known, names.domains, "domain of its own")
    changes = {old: canonical(new) for old, new in changes.items()}
    for roots, imports in scopes(model):
        for old, new in changes.items():
            if new in imports and new not in changes and imports.get(old, imports[new]) != imports[new]:
                what = f"domain {old!r} is imported as version {imports[old]}, {new or 'ai.onnx'!r} as {imports[new]}"
                raise InputError(f"{what}; choose another name", name=old)
        moved = {changes.get(domain, domain): version for domain, version in imports.items()}
        imports.clear()
        imports.update(moved)
        for node in (node for root in roots for node in nodes(root)):
            node.domain = changes.get(node.domain, node.domain)
    keys = {key: (changes.get(key[0], key[0]), *key[1:]) for key in model.functions}
    refuse_operators({old: new for old, new in keys.items() if old != new})
    refuse_taken([(str(old), str(new)) for old, new in keys.items()], "function")
    for key, function in list(model.functions.items()):
        function.domain = keys[key][0]
    model.functions = {function.key: function for function in model.functions.values()}
