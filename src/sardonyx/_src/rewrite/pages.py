"""The pass registry: passes by name, their documentation pages, and the operators at which they start."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sardonyx._src.arguments import texts_of
from sardonyx._src.docpages import load_page
from sardonyx._src.errors import InputError
from sardonyx._src.ops.index import Index, module_names, qualified_name
from sardonyx._src.rewrite.api import REGISTERED_PASSES, Pass
from sardonyx._src.rewrite.engine.pattern import parse_pattern
from sardonyx._src.suggestions import suggest

PASSES_FOLDER = Path(__file__).parent / "passes"
PASSES_PACKAGE = f"{__name__.rpartition('.')[0]}.passes"
PASS_MENTION = re.compile(
    rb"""\b([A-Z]\w*)(?=["'<(]| <| \()"""
)  # an operator in code, or in the pattern of a docstring
INDEX = Index(PASSES_PACKAGE, PASSES_FOLDER, PASS_MENTION)
PASS_HEADINGS = ("Spec", "Before", "After", "Keeps")
PASS_TITLE = re.compile(r"([a-z0-9-]+): (.+)\Z")
SPEC_OPERATOR = re.compile(r"(?:([a-z.]+) )?(\w+)((?: ?-\d+)+)\Z")
Versions = Mapping[
    tuple[str, str], frozenset[int]
]  # domain and operator -> the versions that the pass supports


@dataclass(frozen=True, slots=True)
class PassPage:
    """The parsed docstring of a pass; `before` has one text per alternative."""

    name: str
    title: str
    versions: Versions
    before: tuple[str, ...]
    after: str
    keeps: str


@cache
def names() -> tuple[str, ...]:
    """The names of all passes, sorted."""
    return tuple(sorted(module.replace("_", "-") for module in module_names(PASSES_FOLDER)))


@cache
def find(name: str) -> Pass:
    """Import the pass of a name; an assertion names a file that does not register exactly one."""
    module = name.replace("-", "_")
    INDEX.import_module(module)
    registered = [p for p in REGISTERED_PASSES if p.module == f"{PASSES_PACKAGE}.{module}"]
    assert len(registered) == 1, f"{PASSES_PACKAGE}.{module} must register one pass; got {len(registered)}"
    return registered[0]


def passes() -> Mapping[str, Pass]:
    """Every pass by its name."""
    return {name: find(name) for name in names()}


def root_operators(name: str) -> frozenset[str]:
    """The operators at whose nodes a pass starts, as qualified names; empty for all."""
    module = name.replace("-", "_")
    if INDEX.entries is not None and not INDEX.is_stale(module):
        return frozenset(INDEX.entries[module]["names"])
    return roots_of(find(name))


def roots_of(declaration: Pass) -> frozenset[str]:
    """The same, from the declaration: the decorator's roots, or the last operator of each pattern."""
    if declaration.kind != "pattern":
        return frozenset(declaration.roots)
    last = (parse_pattern(text).root for text in page(declaration.name).before)
    return frozenset(qualified_name(node.domain, node.op_type) for node in last)


@cache
def page(name: str) -> PassPage:
    """The page of a pass; an assertion names what its docstring lacks."""
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
        domain = "" if match[1] in (None, "ai.onnx") else match[1]
        result[domain, match[2]] = frozenset(int(v) for v in re.findall(r"\d+", match[3]))
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
