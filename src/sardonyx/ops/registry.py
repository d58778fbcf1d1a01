"""Finding operators: every module below `ops` is loaded at the first question."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sardonyx.ops.api import OPERATORS, Operator
from sardonyx.schema import OpSchema, lookup

FOLDER = Path(__file__).parent
PACKAGE = __name__.rpartition(".")[0]


def find(domain: str, op_type: str) -> Operator | None:
    """The operator of that domain ("" for ai.onnx) and name, or None."""
    load()
    return OPERATORS.get((domain, op_type))


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


@cache
def load() -> None:
    """Imports every module below this folder."""
    for module in pkgutil.walk_packages([str(FOLDER)], PACKAGE + "."):
        if not module.ispkg:
            importlib.import_module(module.name)
