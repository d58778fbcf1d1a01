"""Write the indexes from operators to the modules that concern them (`sardonyx._src.ops.index`)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sardonyx._src.compile.lower.registry import LOWERINGS
from sardonyx._src.compile.partition.regions import registry as matchers
from sardonyx._src.grad import registry as gradients
from sardonyx._src.ops import registry
from sardonyx._src.ops.api import GRADIENTS
from sardonyx._src.ops.index import INDEX_FILE, Index, qualified_name
from sardonyx._src.rewrite import pages

ROOT = Path(__file__).resolve().parent.parent


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    return dict(
        file_of(index, pairs)
        for index, pairs in (
            (registry.INDEX, operators()),
            (matchers.OPERATOR_INDEX, matchers_and_lowerings()),
            (matchers.PATTERN_INDEX, patterns()),
            (pages.INDEX, passes()),
            (gradients.INDEX, gradient_facets()),
        )
    )


def operators() -> Iterable[tuple[str, str]]:
    """Modules that define an operator or a facet of it, and the operator."""
    return (
        (module, qualified_name(op.domain, op.name))
        for op in registry.operators()
        for module in op.parts
        if module.startswith(registry.INDEX.package)  # not of the plugins that are shipped
    )


def matchers_and_lowerings() -> Iterable[tuple[str, str]]:
    """Modules that match an operator, and the operator; modules that lower a kind of region, and the kind."""
    matchers.import_matchers()
    yield from ((matcher.__module__, qualified_name(*key[:2])) for key, matcher in matchers.MATCHERS.items())
    yield from ((lower.__module__, kind) for kind, lower in LOWERINGS.items())


def patterns() -> Iterable[tuple[str, str]]:
    """Modules of patterns, and the operators at which they start."""
    matchers.PATTERN_INDEX.import_all()
    for (domain, name, _), registered in matchers.PATTERNS.items():
        yield from ((pattern.__module__, qualified_name(domain, name)) for pattern in registered)


def passes() -> Iterable[tuple[str, str]]:
    """Modules of passes, and the operators at whose nodes they start."""
    return ((rewrite.module, root) for rewrite in pages.passes().values() for root in pages.roots_of(rewrite))


def gradient_facets() -> Iterable[tuple[str, str]]:
    """Modules of gradient and decomposition facets, and their operators."""
    gradients.INDEX.import_all()
    facets = (*GRADIENTS.items(), *gradients.DECOMPOSITIONS.items())
    return ((facet.__module__, qualified_name(*key[:2])) for key, facet in facets)


def file_of(index: Index, pairs: Iterable[tuple[str, str]]) -> tuple[Path, str]:
    """The path and the text of an index."""
    return (index.folder / INDEX_FILE).relative_to(ROOT), index.text(pairs)
