"""Operator look-up; the modules of an operator are imported at its first look-up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sardonyx._src.ops.api import OPERATORS, Operator
from sardonyx._src.ops.index import Index, qualified_name
from sardonyx._src.ops.installed_plugins import SHIPPED, import_plugins, import_shipped
from sardonyx._src.schema import OpSchema, domains, lookup, vendor_domains

SPECIFIED_DOMAINS = frozenset((*domains(), *vendor_domains()))
STANDARD_DOMAINS = frozenset(domains())
INDEX = Index(__name__.rpartition(".")[0], Path(__file__).parent)
SHIPPED_PACKAGES = tuple(f"{package}." for package in (INDEX.package, *SHIPPED.values()))
FIELDS_AT_LOOKUP: dict[
    tuple[str, str], dict[str, object]
] = {}  # the fields of each operator when it was first looked up


def find(domain: str, op_type: str) -> Operator | None:
    """The operator of that domain ("" for ai.onnx) and name, or None."""
    is_new = INDEX.import_for(qualified_name(domain, op_type))
    op = OPERATORS.get((domain, op_type))
    if op is None and domain not in STANDARD_DOMAINS:
        op = find_in_plugins(domain, op_type)
    if op is not None and domain in SHIPPED:
        is_new = is_shipped(op) and (domain, op_type) not in FIELDS_AT_LOOKUP
    if op is not None and is_new:
        FIELDS_AT_LOOKUP[domain, op_type] = copy_fields(op)
    return op


def find_in_plugins(domain: str, op_type: str) -> Operator | None:
    """An operator that a plugin for this domain, which had not been imported, defines."""
    while import_plugins(domain):
        if (domain, op_type) in OPERATORS:
            return OPERATORS[domain, op_type]
    return None


def is_shipped(op: Operator) -> bool:
    """Whether an operator is defined by this distribution, not by a caller."""
    return op.module.startswith(SHIPPED_PACKAGES)


def operators() -> Iterator[Operator]:
    """All operators, by domain and name."""
    load()
    return iter([OPERATORS[key] for key in sorted(OPERATORS)])


def signature(domain: str, op_type: str, version: int) -> OpSchema | None:
    """The signature of `op_type` in version `version` of its operator set, from the specification or a caller's operator."""
    schema = lookup(domain, op_type, version)
    if schema is not None:
        return schema
    find(domain, op_type)
    return registered_signature(domain, op_type, version)


def registered_signature(domain: str, op_type: str, version: int) -> OpSchema | None:
    """The signature that a registered operator brings for version `version` of its operator set; imports nothing."""
    op = OPERATORS.get((domain, op_type))
    fitting = [s for s in op.schema if s.since_version <= version] if op is not None else []
    return fitting[-1] if fitting else None


def uses_own_operators(names: Iterable[tuple[str, str]]) -> bool:
    """Whether one of these operators, by domain and name, was registered by a caller."""
    operators = (OPERATORS.get(name) for name in names)
    return any(op is not None and not is_shipped(op) for op in operators)


def has_registered_operators(domain: str) -> bool:
    """Whether a caller has registered an operator of a domain."""
    return any(key[0] == domain and op.schema for key, op in OPERATORS.items())


def load() -> None:
    """Imports every operator."""
    INDEX.import_all()
    for domain in SHIPPED:
        import_shipped(domain)


def departures() -> tuple[object, ...]:
    """The names and fields of operators that a caller has registered or changed, and the names of those removed."""
    changed: list[object] = []
    for key, op in list(OPERATORS.items()):
        fields = FIELDS_AT_LOOKUP.get(key)
        # Every session compares the fields of all operators; comparing dictionaries is fast.
        if not is_shipped(op) if fields is None else vars(op) != fields:
            changed += [key, *entries(op)]
    return *changed, *(key for key in FIELDS_AT_LOOKUP if key not in OPERATORS)


def copy_fields(op: Operator) -> dict[str, object]:
    """The fields of an operator, with copies of those that are tables."""
    return {name: dict(value) if isinstance(value, dict) else value for name, value in vars(op).items()}


def entries(op: Operator) -> Iterator[object]:
    """The fields of an operator, and the entries of those that are tables."""
    for value in vars(op).values():
        if isinstance(value, dict):
            yield from value.items()
        else:
            yield value
