"""Write docs/generated/gradients.md: how each operator is differentiated, and how many cases check it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from grad.gradient_cases import CASES
from sardonyx._src.grad.registry import find_gradient
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, Parameter, latest, lookup, operators

PAGE = Path("docs/generated/gradients.md")
HEAD = """# Gradients

Written by `make regen`.  How `sx.gradient` and Gradient nodes differentiate the operators of ai.onnx, in their newest versions: by a gradient
facet, or through the operator's body.  The specification names the differentiable inputs of most operators.  Cases are
compared with central differences in float64 (`tests/grad`); an operator without a case is differentiated through operators that have some.

| operator | differentiable inputs | by | cases |
|---|---|---|---|
"""
REFUSED = """
## Refused

A path through one of these is a DifferentiationError.  Integers, booleans and strings carry no gradient, so that operators which
return nothing else are not listed.

| operator | differentiable inputs |
|---|---|
"""


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    newest = [lookup("", name, latest("")) for name in operators("")]
    schemas = [schema for schema in newest if schema is not None and not schema.deprecated]
    counts = Counter(node.op_type for case in CASES for node in case.model().graph.nodes)
    rows, refused = [], []
    for schema in schemas:
        inputs = ", ".join(parameter.name for parameter in schema.inputs if parameter.differentiable)
        method = method_of(schema)
        if method:
            rows.append(
                f"| {schema.name}-{schema.since_version} | {inputs} | {method} | {counts[schema.name] or ''} |\n"
            )
        elif inputs or returns_floats(schema):
            refused.append(f"| {schema.name}-{schema.since_version} | {inputs} |\n")
    return {PAGE: HEAD + "".join(rows) + REFUSED + "".join(refused)}


def method_of(schema: OpSchema) -> str:
    """How an operator is differentiated; empty if it is not."""
    op = find("", schema.name)
    if op is None:
        return ""
    if find_gradient("", schema.name, schema.since_version) is not None:
        return "facet"
    return "body" if schema.since_version in op.bodies else ""


def returns_floats(schema: OpSchema) -> bool:
    """Whether an operator turns floating-point tensors into others."""

    def have_float(parameters: Sequence[Parameter]) -> bool:
        return any("float" in type for parameter in parameters for type in schema.allowed_types(parameter))

    return have_float(schema.inputs) and have_float(schema.outputs)
