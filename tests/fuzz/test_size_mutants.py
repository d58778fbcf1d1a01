"""A sample of the campaign of mismatched sizes: models with open dims, and feeds of which one size disagrees with the others."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from models import parse_record
from sampling import FACTOR
from sardonyx._src.ir import TensorType
from sardonyx._src.proto.binary import encode

CASES = 250
PRODUCT = "g (float[2,3] x, float[3,4] z) => (float[2,4] y) { y = MatMul (x, z) }"


@pytest.mark.skipif(sys.platform == "win32", reason="no process is forked")
def test_both_engines_treat_sizes_that_disagree_alike() -> None:
    from fuzz.seeds import operator_subjects
    from fuzz.size_mutants import size_judge
    from fuzz.workers import judge_cases

    judge = size_judge([*operator_subjects()])
    judged = list(judge_cases(judge, range(CASES * FACTOR)))
    assert {case.number: case.verdict for case in judged if case.verdict.fault} == {}
    outcomes = [case.verdict.outcome for case in judged]
    assert min(map(outcomes.count, ("both engines refuse", "equal results"))) > CASES // 10


def test_a_mutant_feeds_other_sizes_for_dims_that_are_open() -> None:
    from fuzz.seeds import Subject
    from fuzz.size_mutants import size_mutant

    feeds = {"x": np.ones((2, 3), np.float32), "z": np.ones((3, 4), np.float32)}
    subject = Subject("product", "MatMul", encode(parse_record(PRODUCT)), feeds)
    for number in range(40):
        mutant = size_mutant(subject, random.Random(number))
        types = {value.name: value.type for value in mutant.model.graph.inputs}
        shapes = {name: np.asarray(value).shape for name, value in mutant.feeds.items()}
        assert types.keys() == shapes.keys() == mutant.first.keys()
        assert shapes != {name: np.asarray(value).shape for name, value in mutant.first.items()}
        for name, shape in shapes.items():
            type_ = types[name]
            assert isinstance(type_, TensorType) and type_.shape is not None
            for dim, size in zip(type_.shape, shape, strict=True):
                assert not isinstance(dim, int) or dim == size
