"""Extreme integers in every integer attribute of every operator, on both engines and in the build with checked accesses.

The models are node cases of the onnx wheel and cases of tests/ops.  A mutation replaces one integer of one attribute;
its model runs with fixed and with open dims, on both engines, and, where both succeed with native steps only, in the build
with checked accesses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sardonyx as sx
from conformance.inference import with_variables
from fuzz.engines import check_accesses, compare_engines
from fuzz.seeds import Subject, operator_subjects
from fuzz.verdicts import Verdict
from fuzz.workers import Judge
from sardonyx._src.ir import Attribute, Model
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.bind import schema_of

EXTREMES = (
    0, 1, -1, 2, 2**15, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**58, 2**62, 2**63 - 1, -(2**63), -(2**62),
)  # fmt: skip
CASES_PER_ATTRIBUTE = 2
SEEDS_OF_OPERATORS = ("seed",)  # attributes that only choose random numbers


@dataclass(frozen=True)
class ExtremeAttribute:
    """An attribute of a subject's node, set to `value`; position: of the changed integer in a list, else None."""

    subject: Subject
    attribute: str
    position: int | None
    value: int
    is_open: bool

    def __str__(self) -> str:
        place = self.attribute if self.position is None else f"{self.attribute}[{self.position}]"
        dims = "open" if self.is_open else "fixed"
        return f"{self.subject.operator} ({self.subject.name}) {place} = {self.value}, {dims} dims"


def extreme_attributes(
    pattern: str = "", cases_per_attribute: int = CASES_PER_ATTRIBUTE
) -> Iterator[ExtremeAttribute]:
    """The mutations of the first cases that state an attribute, or else of those that leave it to its default.

    pattern: a regular expression for operators."""
    ranked: list[tuple[bool, str, Subject, int | None]] = []
    for subject in operator_subjects():
        if re.search(pattern, subject.operator):
            model = sx.load(subject.model)
            (node,) = model.graph.nodes
            for name, declared in schema_of(node, model.opset_imports).attributes.items():
                value = node.attributes[name].value if name in node.attributes else None
                if declared.type == "INT" and name not in SEEDS_OF_OPERATORS:
                    ranked.append((value is None, name, subject, None))
                elif declared.type == "INTS" and isinstance(value, tuple) and value:
                    ranked += [(False, name, subject, position) for position in sorted({0, len(value) - 1})]
    counts: Counter[tuple[str, str, int | None]] = Counter()
    for _, name, subject, position in sorted(ranked, key=lambda entry: entry[0]):
        counts[subject.operator, name, position and 1] += 1
        if counts[subject.operator, name, position and 1] <= cases_per_attribute:
            for value in EXTREMES:
                yield from (
                    ExtremeAttribute(subject, name, position, value, is_open) for is_open in (False, True)
                )


def mutated_model(mutation: ExtremeAttribute) -> Model:
    """The model of a mutation, whose outputs have no declared types."""
    model = sx.load(mutation.subject.model)
    (node,) = model.graph.nodes
    name, position = mutation.attribute, mutation.position
    if position is None:
        node.attributes[name] = Attribute(name, AttributeType.INT, mutation.value)
    else:
        numbers = [*node.attributes[name].value]  # type: ignore[misc]
        numbers[position] = mutation.value
        node.attributes[name] = Attribute(name, AttributeType.INTS, tuple(numbers))
    for value in model.graph.outputs:
        value.type = None
    if mutation.is_open:
        with_variables(model, shared=False)
    return model


def extreme_judge(mutations: Sequence[ExtremeAttribute]) -> Judge:
    """Judges case i: mutation i on both engines and, where they agree on results, with checked accesses."""

    def judge(number: int) -> Verdict:
        mutation = mutations[number]
        model = mutated_model(mutation)
        verdict = compare_engines(model, mutation.subject.feeds)
        if verdict.outcome == "equal results":
            verdict = check_accesses(model, mutation.subject.feeds) or verdict
        return verdict

    return judge
