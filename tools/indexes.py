"""Write the indexes that say which modules are about which operators (`sardonyx._src.ops.index`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sardonyx._src.compile import registry as lowerings
from sardonyx._src.ops import registry
from sardonyx._src.ops.index import FILE, Index, modules, name_of
from sardonyx._src.rewrite import pages

ROOT = Path(__file__).resolve().parent.parent


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    return dict(
        written(index, pairs)
        for index, pairs in (
            (registry.INDEX, operators()),
            (lowerings.INDEX, lowered()),
            (pages.INDEX, passes()),
        )
    )


def operators() -> Iterable[tuple[str, str]]:
    """Modules that define an operator or a facet of it, and the operator."""
    return ((module, name_of(op.domain, op.name)) for op in registry.operators() for module in op.parts)


def lowered() -> Iterable[tuple[str, str]]:
    """Modules that lower an operator, and the operator."""
    lowerings.INDEX.bring_all()
    return ((facet.__module__, name_of(*key[:2])) for key, facet in lowerings.FACETS.items())


def passes() -> Iterable[tuple[str, str]]:
    """Modules of passes, and the operators whose nodes they are asked about."""
    return ((one.module, root) for one in pages.passes().values() for root in pages.roots_of(one))


def written(index: Index, pairs: Iterable[tuple[str, str]]) -> tuple[Path, str]:
    """The path and the text of an index."""
    found: dict[str, set[str]] = {module: set() for module in modules(index.folder)}
    for module, name in pairs:
        found[module.removeprefix(f"{index.package}.")].add(name)
    lines = (f"  {json.dumps(module)}: {json.dumps(sorted(names))}" for module, names in found.items())
    return (index.folder / FILE).relative_to(ROOT), "{\n" + ",\n".join(lines) + "\n}\n"
