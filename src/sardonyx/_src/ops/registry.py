"""Finding operators: those that somebody asks for are imported."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from sardonyx._src.ops.api import OPERATORS, Operator
from sardonyx._src.ops.index import Index, name_of
from sardonyx._src.schema import OpSchema, lookup

INDEX = Index(__name__.rpartition(".")[0], Path(__file__).parent)
SHIPPED: dict[tuple[str, str], tuple[object, ...]] = {}  # what operators held when they were first asked for


def find(domain: str, op_type: str) -> Operator | None:
    """The operator of that domain ("" for ai.onnx) and name, or None."""
    is_new = INDEX.bring(name_of(domain, op_type))
    found = OPERATORS.get((domain, op_type))
    if found is not None and is_new:
        SHIPPED[domain, op_type] = entries(found)
    return found


def operators() -> Iterator[Operator]:
    """Every operator that is written down, by domain and name."""
    load()
    return iter([OPERATORS[key] for key in sorted(OPERATORS)])


def signature(domain: str, op_type: str, version: int) -> OpSchema | None:
    """The signature that `op_type` has in version `version` of its operator set: the specification's, or that of
    an operator registered by a caller."""
    found = lookup(domain, op_type, version)
    if found is not None:
        return found
    op = find(domain, op_type)
    fitting = [s for s in op.schema if s.since_version <= version] if op is not None else []
    return fitting[-1] if fitting else None


def load() -> None:
    """Imports every operator."""
    INDEX.bring_all()


def departures() -> tuple[object, ...]:
    """What the operators hold that a caller has registered, or that are no more what they were."""
    ours = f"{INDEX.package}."
    found: list[object] = []
    for key, op in list(OPERATORS.items()):
        held = entries(op)
        if held != SHIPPED.get(key, held if op.module.startswith(ours) else None):
            found += [key, *held]
    return *found, *(key for key in SHIPPED if key not in OPERATORS)


def entries(op: Operator) -> tuple[object, ...]:
    """The fields of an operator, and the entries of those that are tables."""
    tables = (one.items() if isinstance(one, dict) else [one] for one in vars(op).values())
    return tuple(chain.from_iterable(tables))
