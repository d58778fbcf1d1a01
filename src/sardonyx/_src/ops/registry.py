"""Operator look-up; the modules of an operator are imported at its first look-up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from sardonyx._src.ops.api import OPERATORS, Operator
from sardonyx._src.ops.index import Index, qualified_name
from sardonyx._src.schema import OpSchema, lookup

INDEX = Index(__name__.rpartition(".")[0], Path(__file__).parent)
ENTRIES_AT_LOOKUP: dict[
    tuple[str, str], tuple[object, ...]
] = {}  # the entries of operators at their first look-up


def find(domain: str, op_type: str) -> Operator | None:
    """The operator of that domain ("" for ai.onnx) and name, or None."""
    is_new = INDEX.import_for(qualified_name(domain, op_type))
    op = OPERATORS.get((domain, op_type))
    if op is not None and is_new:
        ENTRIES_AT_LOOKUP[domain, op_type] = entries(op)
    return op


def operators() -> Iterator[Operator]:
    """All operators, by domain and name."""
    load()
    return iter([OPERATORS[key] for key in sorted(OPERATORS)])


def signature(domain: str, op_type: str, version: int) -> OpSchema | None:
    """The signature that `op_type` has in version `version` of its operator set: the specification's, or that of
    an operator registered by a caller."""
    schema = lookup(domain, op_type, version)
    if schema is not None:
        return schema
    op = find(domain, op_type)
    fitting = [s for s in op.schema if s.since_version <= version] if op is not None else []
    return fitting[-1] if fitting else None


def load() -> None:
    """Imports every operator."""
    INDEX.import_all()


def departures() -> tuple[object, ...]:
    """The entries of operators that a caller has registered or changed."""
    ours = f"{INDEX.package}."
    changed: list[object] = []
    for key, op in list(OPERATORS.items()):
        current = entries(op)
        if current != ENTRIES_AT_LOOKUP.get(key, current if op.module.startswith(ours) else None):
            changed += [key, *current]
    return *changed, *(key for key in ENTRIES_AT_LOOKUP if key not in OPERATORS)


def entries(op: Operator) -> tuple[object, ...]:
    """The fields of an operator, and the entries of those that are tables."""
    tables = (value.items() if isinstance(value, dict) else [value] for value in vars(op).values())
    return tuple(chain.from_iterable(tables))
