"""The pass registry: passes by name, their documentation pages, and the operators at which they start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from sardonyx._src.arguments import texts_of
from sardonyx._src.docpages import load_page
from sardonyx._src.errors import InputError
from sardonyx._src.ops.index import Index, qualified_name
from sardonyx._src.rewrite.api import REGISTERED_PASSES, Pass, PassPage, Versions
from sardonyx._src.rewrite.engine.pattern import parse_pattern
from sardonyx._src.rewrite.own_passes import OWN_PASSES
from sardonyx._src.rewrite.shipped_passes import PASSES_FOLDER, shipped_names
from sardonyx._src.schema import canonical
from sardonyx._src.suggestions import suggest

PASSES_PACKAGE = f"{__name__.rpartition('.')[0]}.passes"
PASS_MENTION = re.compile(
    rb"""\b([A-Z]\w*)(?=["'<(]| <| \()"""
)  # an operator in code, or in the pattern of a docstring
INDEX = Index(PASSES_PACKAGE, PASSES_FOLDER, PASS_MENTION)
PASS_HEADINGS = ("Spec", "Before", "After", "Keeps")
PASS_TITLE = re.compile(r"([a-z0-9-]+): (.+)\Z")
SPEC_OPERATOR = re.compile(r"(?:([a-z.]+) )?(\w+)((?: ?-\d+)+)\Z")


def names() -> tuple[str, ...]:
    """The names of all passes, sorted, those of callers included."""
    return tuple(sorted((*shipped_names(), *OWN_PASSES)))


def find(name: str) -> Pass:
    """The pass of a name."""
    return OWN_PASSES[name].declaration if name in OWN_PASSES else import_pass(name)


@cache
def import_pass(name: str) -> Pass:
    """Import the pass of a name; an assertion names a file that does not register exactly one."""
    module = name.replace("-", "_")
    INDEX.import_module(module)
    registered = [p for p in REGISTERED_PASSES if p.module == f"{PASSES_PACKAGE}.{module}"]
    assert len(registered) == 1, f"{PASSES_PACKAGE}.{module} must register one pass; got {len(registered)}"
    return registered[0]


def passes() -> Mapping[str, Pass]:
    """Every pass of this package by its name."""
    return {name: find(name) for name in shipped_names()}


def root_operators(name: str) -> frozenset[str]:
    """The operators at whose nodes a pass starts, as qualified names; empty for all."""
    if name in OWN_PASSES:
        return roots_of(OWN_PASSES[name].declaration)
    module = name.replace("-", "_")
    if INDEX.entries is not None and not INDEX.is_stale(module):
        return frozenset(INDEX.entries[module]["names"])
    return roots_of(find(name))


def roots_of(declaration: Pass) -> frozenset[str]:
    """The operators at whose nodes a pass starts: the roots of its declaration, or the last operator of each pattern."""
    if declaration.kind != "pattern":
        return frozenset(declaration.roots)
    last = (parse_pattern(text).root for text in page(declaration.name).before)
    return frozenset(qualified_name(node.domain, node.op_type) for node in last)


def page(name: str) -> PassPage:
    """The page of a pass."""
    return OWN_PASSES[name].page if name in OWN_PASSES else parse_page(name)


@cache
def parse_page(name: str) -> PassPage:
    """The page of a pass of this package; an assertion names what its docstring lacks."""
    module = find(name).module
    doc = load_page(module, PASS_TITLE, PASS_HEADINGS, optional=("Spec",))
    assert doc.title[1] == name, f"the title of {module} must begin with {name}; got {doc.title[1]}"
    parts = doc.sections
    before = tuple(text.strip() for text in re.split(r"^or:?$", parts["Before"], flags=re.MULTILINE))
    keeps = " ".join(parts["Keeps"].split())
    return PassPage(name, doc.title[2], versions_in(parts.get("Spec", "")), before, parts["After"], keeps)


def versions_in(spec: str) -> Versions:
    """The operators and versions of a Spec section, as in `Div-7 -13 -14, ai.onnx.ml Scaler-1`; the default domain is
    ai.onnx."""
    result: dict[tuple[str, str], frozenset[int]] = {}
    for text in filter(None, (part.strip() for part in spec.split(","))):
        match = SPEC_OPERATOR.match(" ".join(text.split()))
        assert match is not None, (
            f"a Spec entry must be an operator with versions, as in `Div-7 -13 -14`; got {text!r}"
        )
        result[canonical(match[1] or ""), match[2]] = frozenset(int(v) for v in re.findall(r"\d+", match[3]))
    return result


def select_passes(passes: Iterable[str] | None, skip: Iterable[str]) -> list[str]:
    """The names of the passes to run: those named, or all, minus those skipped.

    Raises InputError for a name that no pass has.
    """
    known = names()
    skipped = set(texts_of("skip", skip))
    selected = known if passes is None else texts_of("passes", passes)
    for name in (*selected, *skipped):
        if name not in known:
            hint = suggest(name, known, "passes")
            raise InputError(f"no pass is named {name!r}{hint}", name=name)
    return [name for name in dict.fromkeys(selected) if name not in skipped]
