"""Passes of callers: patterns that `sx.optimize` applies like its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sardonyx._src.arguments import require_choice, require_text, texts_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.registry import find, registered_signature
from sardonyx._src.rewrite.api import PHASES, MatchCallback, ModelCallback, Pass, PassPage, Phase
from sardonyx._src.rewrite.engine.pattern import Pattern, parse_pattern
from sardonyx._src.rewrite.shipped_passes import shipped_names
from sardonyx._src.schema import latest
from sardonyx._src.schema.catalogue import versions


@dataclass(frozen=True, slots=True)
class OwnPass:
    """A pass that a caller registered, with its page."""

    declaration: Pass
    page: PassPage


OWN_PASSES: dict[str, OwnPass] = {}


class EveryVersion(Mapping[tuple[str, str], frozenset[int]]):
    """All known versions of each operator of a pattern."""

    def __init__(self, operators: Collection[tuple[str, str]]) -> None:
        self.operators = operators

    def __getitem__(self, key: tuple[str, str]) -> frozenset[int]:
        if key not in self.operators:
            raise KeyError(key)
        operator = find(*key)
        own = operator.schema if operator is not None else ()
        return frozenset((*versions(*key), *(schema.since_version for schema in own)))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.operators)

    def __len__(self) -> int:
        return len(self.operators)


def pattern(
    before: str | Sequence[str], after: str, *, name: str = "", phase: Phase = "fuse"
) -> Callable[[MatchCallback], MatchCallback]:
    """A decorator that makes a pass of a pattern: `sx.optimize` replaces what matches `before` by `after`.

        @pattern("n = Neg(x) y = Neg(n)", "y = Identity(x)")
        def drop_double_negation(match):
            return {}

    before, after: nodes in ONNX's textual syntax; a list of strings for `before` has alternatives.  The last node of `before`
        is the root, whose outputs `after` must define; the other nodes are removed if nothing else uses their results.
        `@name` as the value of an attribute binds the name to that value.
    name: the name of the pass; by default the name of the function with dashes.
    phase: "expand", "simplify" or "fuse".

    The function is called with each match (`sardonyx.plugins.Match`).  It returns more bindings for `after`: attributes for
    `@name`, and arrays for names that nothing in `after` defines; or None to reject the match.
    All versions of the operators match.  The native engine does not apply the pass when it compiles a model.  A second
    definition replaces the first.  Raises TextError for a string that does not parse, InputError for patterns that do not fit
    together, and for the name of a pass of this package.
    """
    require_text("after", after)
    require_text("name", name)
    require_choice("phase", phase, PHASES)
    alternatives = (before,) if isinstance(before, str) else texts_of("before", before)
    result = parse_pattern(after)
    for text in alternatives:
        check_pattern(parse_pattern(text), result)

    def define(function: MatchCallback) -> MatchCallback:
        if not callable(function):
            raise TypeError(f"the pattern must decorate a function of a match; got {type(function).__name__}")
        title = name or function.__name__.replace("_", "-")
        register_pass(title, function, phase, alternatives, after)
        return function

    return define


def check_pattern(before: Pattern, after: Pattern) -> None:
    """Raises InputError unless `after` defines the outputs of the root of `before`."""
    if not before.nodes or not after.nodes:
        raise InputError("before and after must have a node each", name="before")
    defined = {name for node in after.nodes for name in node.outputs}
    missing = [name for name in before.root.outputs if name and name not in defined]
    if missing:
        raise InputError(
            f"after must define {missing[0]!r}, an output of the last node of before", name="after"
        )


def register_pass(
    name: str, function: MatchCallback, phase: Phase, before: tuple[str, ...], after: str
) -> None:
    """Registers the pass; it replaces an earlier one of a caller with the same name."""
    if name in shipped_names():
        raise InputError(f"{name!r} is a pass of this package", name="name")
    operators = {key for text in (*before, after) for key in parse_pattern(text).operators()}
    title = (inspect.getdoc(function) or name).partition("\n")[0]
    page = PassPage(name, title, EveryVersion(operators), before, after, "")
    declaration = Pass("pattern", phase, (), function.__module__, on_match=function, own_name=name)
    OWN_PASSES[name] = OwnPass(declaration, page)


def register_graph_pass(name: str, function: ModelCallback, phase: Phase, title: str) -> None:
    """Registers a pass over a whole model; it replaces an earlier one of a caller with the same name."""
    if name in shipped_names():
        raise InputError(f"{name!r} is a pass of this package", name="name")
    declaration = Pass("sweep", phase, (), function.__module__, on_model=function, own_name=name)
    OWN_PASSES[name] = OwnPass(declaration, PassPage(name, title, EveryVersion(()), (), "", ""))


def import_domains(model: Model, passes: Collection[str]) -> set[str]:
    """Imports the domains of own operators that own passes may insert; returns those that were not imported."""
    added: set[str] = set()
    for name in OWN_PASSES.keys() & set(passes):
        if OWN_PASSES[name].declaration.kind != "pattern":
            continue  # a graph pass: its edits import the domains that they use
        for domain, op_type in parse_pattern(OWN_PASSES[name].page.after).operators():
            signature = registered_signature(domain, op_type, LAST_VERSION)
            version = latest(domain) if signature is None else signature.since_version
            if version and domain not in model.opset_imports:
                model.opset_imports[domain] = version
                added.add(domain)
    return added


def drop_imports(model: Model, domains: Collection[str]) -> None:
    """Removes the imports of domains that no node uses."""
    used = {node.domain for root in roots(model) for node in nodes(root)}
    for domain in domains:
        if domain not in used:
            del model.opset_imports[domain]


LAST_VERSION = (1 << 63) - 1
