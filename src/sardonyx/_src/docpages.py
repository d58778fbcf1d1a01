"""Documentation pages: module docstrings with a title paragraph and sections under fixed headings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Collection, Mapping, Sequence

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DocPage:
    """A parsed docstring: the match of its title paragraph, and the text under each heading."""

    title: re.Match[str]
    sections: Mapping[str, str]


def load_page(
    module: str, title: re.Pattern[str], headings: Sequence[str] = (), optional: Collection[str] = ()
) -> DocPage:
    """Import a module and parse its docstring.

    `title` must match the first paragraph, joined into one line; `headings` must follow in this order, except
    `optional` ones, which may be absent.  An assertion names a docstring that deviates.
    """
    doc = inspect.cleandoc(importlib.import_module(module).__doc__ or "")
    first, _, rest = doc.partition("\n\n")
    match = title.match(" ".join(first.split()))
    assert match is not None, f"the docstring of {module} must begin with {title.pattern}; got {first!r}"
    sections = split_sections(rest, headings)
    expected = tuple(h for h in headings if h in sections or h not in optional)
    assert tuple(sections) == expected, f"the headings of {module} must be {expected}; got {tuple(sections)}"
    return DocPage(match, sections)


def split_sections(text: str, headings: Collection[str]) -> dict[str, str]:
    """The text under each heading, without the indentation shared by its lines."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        heading, colon, first = line.partition(":")
        if colon and heading in headings:
            current = sections[heading] = [" " * (len(heading) + 1) + first]
        else:
            current.append(line)
    return {heading: inspect.cleandoc("\n" + "\n".join(lines)).strip() for heading, lines in sections.items()}
