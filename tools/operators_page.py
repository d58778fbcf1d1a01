"""Write docs/generated/operators.md: every operator, its versions, and which facets are written down for it."""

from __future__ import annotations

import importlib
from pathlib import Path

from sardonyx._src.compile.partition.regions.registry import is_supported
from sardonyx._src.compile.prepare.decompose import DECOMPOSITIONS
from sardonyx._src.convert.vendor_operators import CLASSICAL_DOMAIN
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import (
    domains,
    exact,
    latest,
    operators,
    vendor_domains,
    vendor_names,
    versions,
    withdrawn,
)

PAGE = Path("docs/generated/operators.md")
HEAD = """# Operators

Written by `make regen`.  A version in brackets has no kernel; one with an asterisk is of an operator set under development.  Facets: i infers types and shapes, v follows known
elements, b has a body of other operators; each only where it is written for all versions that call for it.

| operator | versions | facets | what it does |
|---|---|---|---|
"""

VENDORS = """
## Vendors' operators

Operators that onnxruntime defines outside of ONNX, its optimizer and the builder of onnxruntime-genai write; version 1 of each, imported
or not.  One with a body is typed, run, converted and inlined through standard operators; one with neither body nor kernel has a signature
only.

| operator | runs by | what it does |
|---|---|---|
"""

WITHOUT_KERNELS = """
## Operators without native kernels

Their newest versions run as reference kernels between the kernels of the native engine, whatever the types of their inputs.
The others are native for some types and forms; `sardonyx profile MODEL` names the nodes of a model that are not, with the reason.

"""


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    rows = [row(domain, name, versions(domain, name)) for domain in domains() for name in operators(domain)]
    gone = [row("", s.name, (s.since_version,)) for s in withdrawn()]
    vendors = [vendor_row(domain, name) for domain in vendor_domains() for name in operators(domain)]
    vendors += [vendor_row("", name) for name in sorted(vendor_names(""))]
    tail = "\n## Withdrawn\n\nPublished by the first releases as experiments; files that hold them still run.\n\n"
    table = "| operator | versions | facets | what it does |\n|---|---|---|---|\n"
    return {
        PAGE: HEAD
        + "".join(rows)
        + tail
        + table
        + "".join(gone)
        + VENDORS
        + "".join(vendors)
        + without_kernels()
    }


def without_kernels() -> str:
    """The section of the operators that only reference kernels compute."""
    lines = []
    for domain in domains():
        names = [name for name in operators(domain) if is_fallback(domain, name)]
        if names:
            lines.append(f"- {domain or 'ai.onnx'}: {', '.join(names)}\n")
    return WITHOUT_KERNELS + "".join(lines)


def is_fallback(domain: str, name: str) -> bool:
    """Whether the compiler neither has a kernel for the newest version of an operator nor replaces it by others."""
    newest, op = versions(domain, name)[-1], find(domain, name)
    is_replaced = (
        name in DECOMPOSITIONS
        if domain == ""
        else domain == CLASSICAL_DOMAIN and op is not None and newest in op.bodies
    )
    is_folded = op is not None and (op.reads_shape or name == "Constant")
    return not (is_supported(domain, name, newest) or is_replaced or is_folded)


def vendor_row(domain: str, name: str) -> str:
    """An operator of a vendor, all in version 1, and what it runs by."""
    op = find(domain, name)
    means = [word for word, table in (("body", op.bodies), ("kernel", op.kernels)) if table] if op else []
    line = about(op).replace("|", "\\|") if op else ""
    return f"| {domain or 'ai.onnx'}.{name} | {', '.join(means)} | {line} |\n"


def row(domain: str, name: str, known: tuple[int, ...]) -> str:
    op = find(domain, name)
    marks = ", ".join(mark(op, domain, version) for version in known)
    title = f"{domain}.{name}" if domain else name
    line = about(op).replace("|", "\\|") if op else ""
    return f"| {title} | {marks} | {facets(op, domain, known) if op else ''} | {line} |\n"


def mark(op: Operator | None, domain: str, version: int) -> str:
    """A version, in brackets without a kernel, and with an asterisk if no release has published it."""
    star = "*" * (version > latest(domain))
    return f"{version}{star}" if op and version in op.kernels else f"({version}{star})"


def about(op: Operator) -> str:
    """The operator's line: its own, or that of the module which it has to itself."""
    if op.about:
        return op.about
    name, _, line = (importlib.import_module(op.module).__doc__ or "").partition("\n")[0].partition(": ")
    return line if name == op.name else ""


def facets(op: Operator, domain: str, known: tuple[int, ...]) -> str:
    function_versions = [v for v in known if (s := exact(domain, op.name, v)) is not None and s.is_function]
    letters = {
        "i": set(known) <= op.infers.keys(),
        "v": bool(op.values) and set(known) <= op.values.keys(),
        "b": bool(function_versions) and set(function_versions) <= op.bodies.keys(),
    }
    return " ".join(letter for letter, present in letters.items() if present)
