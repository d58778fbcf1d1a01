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
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.api import OPERATORS
from sardonyx._src.ops.index import Index, qualified_name
from sardonyx._src.schema import versions

Matcher: TypeAlias = "Callable[[BoundNode, Scope], Region[object] | None]"
Key: TypeAlias = tuple[str, str, int]  # domain, operator, version
COMPILE = __name__.rpartition(".partition.")[0]
PATTERN_INDEX = Index(f"{COMPILE}.partition.patterns", Path(__file__).parents[1] / "patterns")
OPERATOR_INDEX = Index(f"{COMPILE}.lower.operators", Path(__file__).parents[2] / "lower" / "operators")
# By module of a pattern, an operator that its nodes have beside the first: a model without it needs no such module.
REQUIRED_OPERATORS = {
    "conv_weight_gradient": "Transpose",
    "grouped_weight_gradient": "Transpose",
    "max_pool_gradient": "ScatterElements",
    "norm_gradient": "Reciprocal",
    "quantized_convolution": "DequantizeLinear",
    "quantized_product": "DequantizeLinear",
    "softmax_gradient": "ReduceSum",
}
OWN_KERNEL = "OwnKernel"  # the kind of regions with native kernels that callers of the package define
PATTERNS: dict[Key, list[Matcher]] = {}
MATCHERS: dict[Key, Matcher] = {}
NEWEST: dict[str, Matcher] = {}  # by operator of ai.onnx: of its newest version, which was not looked up yet
SHIPPED: dict[Key, Matcher] = {}  # the matchers of this package


def matches(name: str, *numbers: int, domain: str = "") -> Callable[[Matcher], Matcher]:
    """Registers a function that recognizes the region of one node of an operator, in the versions with exactly these numbers.

    The function receives the bound node and the scope, and returns a region, or None for a node that its kernel does not
    support.  It may return a region only if shapes and types are proved or guarded, so that no kernel accesses memory
    outside its buffers.
    """

    def add(matcher: Matcher) -> Matcher:
        for version in numbers:
            key = (domain, name, version)
            assert key not in MATCHERS, f"{name}-{version} has two matchers"
            MATCHERS[key] = matcher
            if matcher.__module__.startswith(f"{OPERATOR_INDEX.package}."):
                SHIPPED[key] = matcher
        return matcher

    return add


def matches_newest(name: str) -> Callable[[Matcher], Matcher]:
    """Registers a matcher as `matches` does, in the newest version of an operator.

    The version is looked up when the operator is: a module that registers a hundred operators reads no hundred signatures.
    """

    def add(matcher: Matcher) -> Matcher:
        assert name not in NEWEST, f"{name} has two matchers"
        NEWEST[name] = matcher
        return matcher

    return add


def register_newest(name: str) -> None:
    """Registers the matcher of the newest version of an operator of ai.onnx, if there is one."""
    matcher = NEWEST.pop(name, None)
    if matcher is not None:
        matches(name, versions("", name)[-1])(matcher)


def import_matchers() -> None:
    """Imports and registers the matchers of all operators."""
    OPERATOR_INDEX.import_all()
    for name in list(NEWEST):
        register_newest(name)


def fuses(name: str, *numbers: int) -> Callable[[Matcher], Matcher]:
    """Registers a pattern whose first node, in the order of the graph, is an operator in the versions with these numbers.

    The patterns of this package come first, by the names of their modules, in whatever order these are imported.
    """

    def add(matcher: Matcher) -> Matcher:
        for version in numbers:
            patterns = PATTERNS.setdefault(("", name, version), [])
            patterns.append(matcher)
            patterns.sort(key=position_of)
        return matcher

    return add


def position_of(pattern: Matcher) -> tuple[bool, str]:
    is_ours = pattern.__module__.startswith(f"{PATTERN_INDEX.package}.")
    return not is_ours, pattern.__module__ if is_ours else ""


def import_patterns(model: Model) -> None:
    """Imports the patterns that may match in a model, judged by the operators that it has."""
    operators = {node.op_type for root in roots(model) for node in nodes(root)}
    if PATTERN_INDEX.entries is None:  # a module was added in a checkout
        PATTERN_INDEX.import_all()
    for name in operators:
        for module in PATTERN_INDEX.modules.get(name, ()):
            if REQUIRED_OPERATORS.get(module, name) in operators:
                PATTERN_INDEX.import_module(module)


def matchers_of(domain: str, name: str, version: int) -> Iterator[Matcher]:
    """The patterns that start at an operator, then the matcher of the operator itself.

    Patterns are those that `import_patterns` has imported for a model.
    """
    key, qualified = (domain, name, version), qualified_name(domain, name)
    OPERATOR_INDEX.import_for(qualified)
    if OPERATOR_INDEX.is_checkout and qualified not in OPERATOR_INDEX.modules:
        # The table of elementwise operators, a file without digest, may have it.
        OPERATOR_INDEX.import_for("Elementwise")
    if not domain:
        register_newest(name)
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
