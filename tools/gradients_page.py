"""Write docs/generated/gradients.md: how each operator is differentiated, and how many cases check it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from grad.gradient_cases import CASES
from sardonyx._src.grad.registry import find_decomposition, find_gradient
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, Parameter, lookup, newest, operators

PAGE = Path("docs/generated/gradients.md")
RESULTS = Path(__file__).resolve().parent.parent / "tests" / "grad" / "checked_cases.json"
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview.training")
HEAD = """# Gradients

Written by `make regen`.  How `sx.gradient` and Gradient nodes differentiate operators in their newest versions: by a gradient
facet, by a decomposition into operators that have one, or through the operator's body.  The specification names the differentiable inputs of most operators.

Cases are models of an operator that are compared with central differences in float64 (`tests/grad`): those written for
gradients, all official ones, and those of the operator's own tests, as `tools/check_gradients.py` counts them.  Of those in float32, some operator computes
with no more digits; of the others, every third is also differentiated twice.  Cases without a finite floating-point result, without a floating-point input, or with
elements of fewer than 32 bits are left out.

"""
COLUMNS = """| operator | differentiable inputs | by | cases for gradients | official | own | float32 | second order |
|---|---|---|---|---|---|---|---|
"""
REFUSED = """
## Zero

The gradient of these is 0: they are constant wherever they have a derivative, or depend on shapes alone.

%s

## Refused

A path through one of these is a DifferentiationError, which names the node, the operator and the cure.  Integers, booleans and strings carry no gradient, so that operators which
return nothing else are not listed.

| operator | differentiable inputs | reason |
|---|---|---|
"""
SPELLED = "the end of a step; `prepare` spells updates with operators that have gradients"
LABELS = "its results are labels, or rows of a table: it has no slope"
REASONS = {
    "BitCast": "bits have no slope",
    "QLinearMatMul": "its operands and results are quantized; QuantizeLinear and DequantizeLinear around MatMul have gradients",
    "Adagrad": SPELLED,
    "Adam": SPELLED,
    "Momentum": SPELLED,
    "Gradient": "it is replaced before anything is differentiated, so that Gradient nodes of Gradient nodes are",
    "CastMap": LABELS,
    "DictVectorizer": "it reads maps, which have no gradient",
    "ZipMap": "it returns maps, which have no gradient",
}
ZERO = "without_slope"


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    cases = Counter(node.op_type for case in CASES for node in case.model().graph.nodes)
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    counts: Mapping[str, Mapping[str, int]] = results["operators"]
    rows, zeros, refused = [], [], []
    for domain, schema in newest_schemas():
        inputs = ", ".join(parameter.name for parameter in schema.inputs if parameter.differentiable)
        method, name = method_of(domain, schema), f"{domain}.{schema.name}" if domain else schema.name
        label = f"{name}-{schema.since_version}"
        if method == ZERO:
            zeros.append(label)
        elif method:
            own = counts.get(name, {})
            numbers = [
                cases[schema.name],
                *(own.get(kind, 0) for kind in ("official", "own", "float32", "second")),
            ]
            cells = " | ".join(str(number or "") for number in numbers)
            rows.append(f"| {label} | {inputs} | {method} | {cells} |\n")
        elif inputs or returns_floats(schema):
            assert schema.name in REASONS, (
                f"{label} needs a gradient in grad/operators, or a reason in REASONS"
            )
            refused.append(f"| {label} | {inputs} | {REASONS[schema.name]} |\n")
    head = HEAD + totals_text(results["totals"]) + COLUMNS
    return {PAGE: head + "".join(rows) + REFUSED % ", ".join(zeros) + "".join(refused)}


def totals_text(totals: Mapping[str, int]) -> str:
    """A sentence with the numbers of cases."""
    wide, short, second = (totals.get(kind, 0) for kind in ("checked", "short", "second"))
    excepted, refused, wrong = (totals.get(kind, 0) for kind in ("excepted", "refused", "wrong"))
    return (
        f"{wide + short} official and own cases were checked, {wide} of them in float64, and {second} to the second order; "
        f"{refused} are refused, {excepted} are listed as exceptions in tests/grad/checking.py, {wrong} differ.\n\n"
    )


def newest_schemas() -> Sequence[tuple[str, OpSchema]]:
    """The domain and the newest signature of every operator that is not deprecated."""
    pairs = [
        (domain, lookup(domain, name, newest(domain))) for domain in DOMAINS for name in operators(domain)
    ]
    return [(domain, schema) for domain, schema in pairs if schema is not None and not schema.deprecated]


def method_of(domain: str, schema: OpSchema) -> str:
    """How an operator is differentiated; empty if it is not."""
    op = find(domain, schema.name)
    if op is None:
        return ""
    facet = find_gradient(domain, schema.name, schema.since_version)
    if facet is not None:
        return ZERO if facet.__name__ == ZERO else "facet"
    if find_decomposition(domain, schema.name, schema.since_version) is not None:
        return "decomposition"
    return "body" if schema.since_version in op.bodies else ""


def returns_floats(schema: OpSchema) -> bool:
    """Whether an operator turns floating-point tensors into others."""

    def have_float(parameters: Sequence[Parameter]) -> bool:
        return any("float" in type for parameter in parameters for type in schema.allowed_types(parameter))

    return have_float(schema.inputs) and have_float(schema.outputs)
