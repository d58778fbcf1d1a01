"""Extreme integers in attributes: a sample of those of tools/fuzz/attribute_extremes.py."""

from __future__ import annotations

import random
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes have no limits")

SAMPLE = 20


def test_engines_agree_on_extreme_attributes() -> None:
    from fuzz.attribute_extremes import failures, mutations
    from sampling import FACTOR

    operators = "^(LRN|Attention|AveragePool|Concat|Gather|TopK|TensorScatter|Scan|Trilu|DepthToSpace)$"
    selected = random.Random(0).sample([*mutations(operators, 1)], SAMPLE * FACTOR)
    assert [fault for _, fault in failures(selected)] == []


def test_a_crash_is_reported_and_the_next_call_answers() -> None:
    from fuzz.limited_process import Death, LimitedProcess

    process = LimitedProcess(raise_signal)
    assert process.call(11) == Death("SIGSEGV")
    assert process.call(0) == 0
    process.close()


def raise_signal(number: int) -> int:
    import signal

    if number:
        signal.raise_signal(number)
    return number
