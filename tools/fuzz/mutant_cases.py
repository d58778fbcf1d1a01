"""Mutants of models and of feeds, each a function of its number, and their verdicts on both engines."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import sardonyx as sx
from fuzz.attribute_mutants import mutated_attributes
from fuzz.engines import compare_engines
from fuzz.feed_mutants import mutated_feeds
from fuzz.feeding import feeds_for
from fuzz.seeds import Subject
from fuzz.structure_mutants import mutated_structure
from fuzz.verdicts import Verdict, untyped
from fuzz.workers import Judge
from sardonyx._src.errors import SardonyxError

MutateModel = Callable[[int], "Mutant"]


@dataclass(frozen=True)
class Mutant:
    """The bytes of a mutated model, and the feeds of the model that it was.  seed: of further draws."""

    subject: Subject
    model: bytes
    seed: int


def structure_mutants(subjects: list[Subject]) -> MutateModel:
    operators = sorted({subject.operator for subject in subjects if subject.operator})

    def mutate(number: int) -> Mutant:
        rng = random.Random(f"structure {number}")
        subject = rng.choice(subjects)
        return Mutant(subject, mutated_structure(subject, operators, rng), number)

    return mutate


def attribute_mutants(subjects: list[Subject]) -> MutateModel:
    by_operator: dict[str, list[Subject]] = {}
    for subject in subjects:
        by_operator.setdefault(subject.operator, []).append(subject)
    operators = sorted(by_operator)

    def mutate(number: int) -> Mutant:
        rng = random.Random(f"attributes {number}")
        subject = rng.choice(by_operator[rng.choice(operators)])
        return Mutant(subject, mutated_attributes(subject, rng), number)

    return mutate


def mutant_judge(mutate: MutateModel) -> Judge:
    """Judges case i: mutant i is refused, or does the same on both engines."""

    def judge(number: int) -> Verdict:
        mutant = mutate(number)
        try:
            model = sx.load(mutant.model)
        except SardonyxError:
            return Verdict("refused by load")
        except Exception as error:  # noqa: BLE001
            return untyped(error, "load")
        feeds = feeds_for(model, mutant.subject.feeds, mutant.seed)
        return Verdict("no feeds") if feeds is None else compare_engines(model, feeds)

    return judge


def feed_judge(subjects: list[Subject]) -> Judge:
    """Judges case i: a valid model with mutated feeds."""

    def judge(number: int) -> Verdict:
        rng = random.Random(f"feeds {number}")
        subject = rng.choice(subjects)
        return compare_engines(sx.load(subject.model), mutated_feeds(subject.feeds, rng))

    return judge
