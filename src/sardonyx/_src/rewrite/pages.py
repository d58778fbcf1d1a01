"""The passes, found by the names of their files, and the pages that their docstrings are."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sardonyx._src.errors import InputError
from sardonyx._src.ops.index import Index, modules, name_of
from sardonyx._src.rewrite.api import REGISTERED, Pass
from sardonyx._src.rewrite.pattern import parsed

FOLDER = Path(__file__).parent / "passes"
PACKAGE = f"{__name__.rpartition('.')[0]}.passes"
INDEX = Index(PACKAGE, FOLDER)
HEADINGS = ("Spec", "Before", "After", "Keeps")
TITLE = re.compile(r"([a-z0-9-]+): (.+)\Z")
OPERATOR = re.compile(r"(?:([a-z.]+) )?(\w+)((?: ?-\d+)+)\Z")
Versions = Mapping[
    tuple[str, str], frozenset[int]
]  # domain and operator -> versions that the pass was read for


@dataclass(frozen=True, slots=True)
class Page:
    """A pass's docstring, taken apart.  `before` has one text for each form that is looked for."""

    name: str
    title: str
    versions: Versions
    before: tuple[str, ...]
    after: str
    keeps: str


@cache
def names() -> tuple[str, ...]:
    """The names of all passes, in order."""
    return tuple(sorted(module.replace("_", "-") for module in modules(FOLDER)))


@cache
def find(name: str) -> Pass:
    """The pass of a name; an assertion names the file of two in one, or of none."""
    module = name.replace("-", "_")
    INDEX.module(module)
    found = [one for one in REGISTERED if one.module == f"{PACKAGE}.{module}"]
    assert len(found) == 1, f"{PACKAGE}.{module} holds {len(found)} passes"
    return found[0]


def passes() -> Mapping[str, Pass]:
    """Every pass by its name."""
    return {name: find(name) for name in names()}


def asked_about(name: str) -> frozenset[str]:
    """The operators whose nodes a pass is asked about, as an index names them; empty: all."""
    if INDEX.names is not None:
        return frozenset(INDEX.names[name.replace("-", "_")])
    return roots_of(find(name))


def roots_of(one: Pass) -> frozenset[str]:
    """Likewise, from the pass itself: those of its decorator, or the last operator of each of its patterns."""
    if one.kind != "pattern":
        return frozenset(one.roots)
    last = (parsed(text).root for text in page(one.name).before)
    return frozenset(name_of(node.domain, node.op_type) for node in last)


@cache
def page(name: str) -> Page:
    """The page of a pass; an assertion says what its docstring lacks."""
    one = find(name)
    doc = inspect.cleandoc(importlib.import_module(one.module).__doc__ or "")
    title, _, rest = doc.partition("\n\n")
    found = TITLE.match(" ".join(title.split()))
    assert found is not None and found[1] == name, f"{one.module} does not begin with `{name}: what it does`"
    parts = sections(rest)
    wanted = HEADINGS if "Spec" in parts else HEADINGS[1:]
    assert tuple(parts) == wanted, f"{one.module} has the headings {tuple(parts)}, wanted {wanted}"
    before = tuple(text.strip() for text in re.split(r"^or:?$", parts["Before"], flags=re.MULTILINE))
    keeps = " ".join(parts["Keeps"].split())
    return Page(name, found[2], versions_in(parts.get("Spec", "")), before, parts["After"], keeps)


def versions_in(spec: str) -> Versions:
    """The operators and versions of a Spec line: `Div-7 -13 -14, ai.onnx.ml Scaler-1`; ai.onnx is what is meant without
    a domain."""
    result: dict[tuple[str, str], frozenset[int]] = {}
    for text in filter(None, (part.strip() for part in spec.split(","))):
        found = OPERATOR.match(" ".join(text.split()))
        assert found is not None, f"{text!r} is no operator with versions, as in `Div-7 -13 -14`"
        domain = "" if found[1] in (None, "ai.onnx") else found[1]
        result[domain, found[2]] = frozenset(int(v) for v in re.findall(r"\d+", found[3]))
    return result


def sections(text: str) -> dict[str, str]:
    """Heading -> what stands behind it, without the indentation that its lines share."""
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        heading, colon, first = line.partition(":")
        if colon and heading in HEADINGS:
            current = parts[heading] = [" " * (len(heading) + 1) + first]
        else:
            current.append(line)
    return {heading: inspect.cleandoc("\n" + "\n".join(lines)).strip() for heading, lines in parts.items()}


def chosen(wanted: Iterable[str] | None, skip: Iterable[str]) -> list[str]:
    """The passes that are to run: those named, or all, less those skipped.

    Raises InputError for a name that no pass has.
    """
    known = names()
    skipped = set(skip)
    wanted = known if wanted is None else list(wanted)
    for name in (*wanted, *skipped):
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise InputError(f"no pass is named {name!r}; {hint}", name=name)
    return [name for name in dict.fromkeys(wanted) if name not in skipped]
