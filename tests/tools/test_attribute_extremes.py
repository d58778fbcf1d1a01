"""Extreme integers in attributes: a sample of those of tools/fuzz/attribute_extremes.py."""

from __future__ import annotations

import random
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process is forked")

SAMPLE = 20


def test_engines_agree_on_extreme_attributes() -> None:
    from fuzz.attribute_extremes import extreme_attributes, extreme_judge
    from fuzz.workers import judge_cases
    from sampling import FACTOR

    operators = "^(LRN|Attention|AveragePool|Concat|Gather|TopK|TensorScatter|Scan|Trilu|DepthToSpace)$"
    selected = random.Random(0).sample([*extreme_attributes(operators, 1)], SAMPLE * FACTOR)
    judged = judge_cases(extreme_judge(selected), range(len(selected)))
    assert {str(selected[case.number]): case.verdict for case in judged if case.verdict.fault} == {}
