"""The vocabulary: names and phrases that `docs/glossary.md` replaces by standard terms occur nowhere."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

import sardonyx._src
from source_facts import facts_of

SRC = Path(sardonyx._src.__path__[0])
ROOT = SRC.parents[2]
GENERATED = {SRC / "proto/messages.py", SRC / "proto/decoders.py"}
SOURCES = [path for path in sorted(SRC.parent.rglob("*.py")) if path not in GENERATED]
OTHER_CODE = [
    path for folder in ("tests", "tools", "bench") for path in sorted((ROOT / folder).rglob("*.py"))
]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]

# Names of things.  Most are ordinary words, which sentences may use.
RETIRED_NAMES = frozenset("""
    asked at found here made one so_many somebody there told wanted
    Asked Asker Collect Crew Destinations Doubt Ending Few Form Forms Grip HostCall Joined Manner Mend Nest Nowhere
    Pending Planes Question Several Story Tail Tally Trail Unfit Upload Wanted Witness
    MOST LEAST LARGEST LONGEST FEW FAR HALVES
    accepted_of each_channel fewer_products put_down puts_down spell_out
""".split())  # fmt: skip

# Phrases, in sentences and messages.  Each pattern with its replacement.
RETIRED_PHRASES = {
    r"\b(is|are) wanted\b": "must be ...; got ...",
    r"\bis told\b": "knows, receives",
    r"\b(some|no)body\b": "name the actor, or use the passive",
    r"\bso many\b": "n, the number of",
    r"\bput(s|ting)? down\b": "emit",
    r"\bgo(es)? by\b": "use",
    r'(?<!")\bbehind\b(?!")': "after",  # a label of LLVM text and a field of a cache key keep the word
    r"\bhands? (out|on)\b": "return, pass",
    r"\bon its way (in|out|to)\b": "name the stage",
    r"\btaken together\b": "reduced, coalesced",
    r"\btold apart\b": "specialized on, cache key",
    r"\bfloats of 16 bits\b": "half precision",
    r"\bcrosswise\b": "transposed",
    r"\bput side by side\b": "concatenated",
    r"\bin the place of what\b": "in place",
    r"\bwords of 8 bytes\b": "64-bit slots",
    r"\bleft to the host\b": "a fallback operation",
    r"\bmend(s|ed|ing|able)?\b": "fix",
    r"\bleave by\b": "exit",
}
HOMES_OF_THE_LIST = {Path(__file__), ROOT / "docs/glossary.md"}


@pytest.mark.parametrize("paths", [SOURCES, OTHER_CODE], ids=["sources", "other code"])
def test_no_retired_name_is_bound(paths: list[Path]) -> None:
    bound = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in paths
        for name, line in facts_of(path).bound_names
        if name in RETIRED_NAMES
    ]
    assert not bound, "\n".join(bound)


def test_no_retired_phrase_is_used() -> None:
    any_phrase = re.compile("|".join(RETIRED_PHRASES))
    candidate = re.compile("|".join(p.removeprefix(r"\b") for p in RETIRED_PHRASES))  # five times as fast
    occurrences = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()} (use: {replacement(line)})"
        for path in (*SOURCES, *OTHER_CODE, *DOCUMENTS)
        if path not in HOMES_OF_THE_LIST and candidate.search(text := path.read_text())
        for number, line in enumerate(text.splitlines(), 1)
        if any_phrase.search(line)
    ]
    assert not occurrences, "\n".join(occurrences)


def replacement(line: str) -> str:
    """The standard terms for the retired phrases of a line."""
    return "; ".join(standard for pattern, standard in RETIRED_PHRASES.items() if re.search(pattern, line))


def test_one_class_name_is_one_class() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path in SOURCES:
        for name in facts_of(path).classes:
            homes[name].append(str(path.relative_to(SRC.parent)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_the_glossary_defines_each_term_once() -> None:
    lines = (ROOT / "docs/glossary.md").read_text().splitlines()
    terms = [line.split("|")[1].strip() for line in lines if line.startswith("| ") and "---" not in line]
    terms = [term for term in terms if term != "term"]
    assert len(terms) > 50
    assert sorted(set(terms)) == sorted(terms)
