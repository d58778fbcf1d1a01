"""Write docs/generated/rules.md: one section for each rule of the checker, from its docstring."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.check.pages import Page, page, rules

PAGE = Path("docs/generated/rules.md")
HEAD = """# Rules of the checker

Written by `make regen`.  An error breaks a MUST of the specification; a warning breaks a SHOULD, or is legal and surely
not meant; an info is worth knowing.  Codes never change their meaning.  An example without a header stands for a graph
in a model whose header is sound; `sardonyx check --explain SX110` prints a section.  Where a section has a line on its
fix, `sardonyx check --fix` mends the fault if it can tell what is meant.

| rule | severity | what is wrong |
|---|---|---|
"""


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    pages = [page(code) for code in rules()]
    return {PAGE: HEAD + "".join(map(row, pages)) + "".join(map(section, pages))}


def row(one: Page) -> str:
    return (
        f"| [{one.code}](#{one.code.lower()}-{one.name}) {one.name} | {one.severity} | {cell(one.title)} |\n"
    )


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def section(one: Page) -> str:
    return f"\n## {one.code} {one.name}\n\n{one.title} ({one.severity})\n\n{one.markdown()}"
