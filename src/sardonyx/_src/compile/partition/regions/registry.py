"""Registry of matchers: for each operator version, the functions that recognize a region at one of its nodes.

A *pattern* (`partition.patterns`) fuses several nodes into one region.  The matcher of a single operator is beside its
lowering (`lower.operators`), and is tried after the patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

from sardonyx._src.compile.partition.regions.region import Region
from sardonyx._src.compile.partition.regions.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.ops.api import OPERATORS
from sardonyx._src.ops.index import Index, qualified_name

Matcher: TypeAlias = "Callable[[BoundNode, Scope], Region[object] | None]"
Key: TypeAlias = tuple[str, str, int]  # domain, operator, version
COMPILE = __name__.rpartition(".partition.")[0]
PATTERN_INDEX = Index(f"{COMPILE}.partition.patterns", Path(__file__).parents[1] / "patterns")
OPERATOR_INDEX = Index(f"{COMPILE}.lower.operators", Path(__file__).parents[2] / "lower" / "operators")
OWN_KERNEL = "OwnKernel"  # the kind of regions with native kernels that callers of the package define
PATTERNS: dict[Key, list[Matcher]] = {}
MATCHERS: dict[Key, Matcher] = {}
SHIPPED: dict[Key, Matcher] = {}  # the matchers of this package


def matches(name: str, *versions: int, domain: str = "") -> Callable[[Matcher], Matcher]:
    """Registers a function that recognizes the region of one node of an operator, in exactly these versions.

    The function receives the bound node and the scope, and returns a region, or None for a node that its kernel does not
    support.  It may return a region only if shapes and types are proved or guarded, so that no kernel accesses memory
    outside its buffers.
    """

    def add(matcher: Matcher) -> Matcher:
        for version in versions:
            key = (domain, name, version)
            assert key not in MATCHERS, f"{name}-{version} has two matchers"
            MATCHERS[key] = matcher
            if matcher.__module__.startswith(f"{OPERATOR_INDEX.package}."):
                SHIPPED[key] = matcher
        return matcher

    return add


def fuses(name: str, *versions: int) -> Callable[[Matcher], Matcher]:
    """Registers a pattern whose first node, in the order of the graph, is an operator in one of these versions."""

    def add(matcher: Matcher) -> Matcher:
        for version in versions:
            PATTERNS.setdefault(("", name, version), []).append(matcher)
        return matcher

    return add


def matchers_of(domain: str, name: str, version: int) -> Iterator[Matcher]:
    """The patterns that start at an operator, then the matcher of the operator itself."""
    key, qualified = (domain, name, version), qualified_name(domain, name)
    PATTERN_INDEX.import_for(qualified)
    OPERATOR_INDEX.import_for(qualified)
    yield from PATTERNS.get(key, ())
    operator = OPERATORS.get((domain, name))
    if operator is not None and version in operator.natives:
        OPERATOR_INDEX.import_for(OWN_KERNEL)
        yield MATCHERS["", OWN_KERNEL, 1]
    if key in MATCHERS:
        yield MATCHERS[key]


def is_supported(domain: str, name: str, version: int) -> bool:
    """Whether an operator can be part of a region in a version."""
    return any(True for _ in matchers_of(domain, name, version))


def user_matchers() -> tuple[object, ...]:
    """The keys and functions of matchers and patterns that a caller registered, replaced or removed, as parts of a cache key."""
    changed: list[object] = []
    for key, matcher in list(MATCHERS.items()):
        if matcher is not SHIPPED.get(key):
            changed += [key, matcher]
    for key, patterns in list(PATTERNS.items()):
        foreign = [p for p in patterns if not p.__module__.startswith(f"{PATTERN_INDEX.package}.")]
        changed += [key, *foreign] if foreign else []
    return *changed, *(key for key in SHIPPED if key not in MATCHERS)
