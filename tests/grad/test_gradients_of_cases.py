"""Gradients of official and own cases, first and second order: a seeded share; tools/check_gradients.py checks all."""

from __future__ import annotations

import numpy as np
import pytest

from grad.checking import check_case
from grad.differentiable_models import source_cases

SHARE = 24  # the number of cases of which one is checked
ALWAYS = ("GridSample-22", "DeformConv-22", "RoiAlign-22", "DFT-20", "STFT-17", "Sequence", "Loop-2")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_gradients_are_central_differences(part: int) -> None:
    rows = list(source_cases())
    order = np.random.default_rng(18).permutation(len(rows))[: len(rows) // SHARE]
    chosen = {
        *map(int, order),
        *(i for i, case in enumerate(rows) if i % 4 == 0 and case.name.startswith(ALWAYS)),
    }
    wrong = []
    with np.errstate(all="ignore"):
        for i in sorted(chosen):
            if i % 4 == part:
                verdict = check_case(rows[i], second_order=True)
                if verdict.kind == "wrong" or verdict.reason.startswith("wrong"):
                    wrong.append(f"{rows[i]}: {verdict.reason}")
    assert not wrong


@pytest.mark.filterwarnings("ignore")
def test_output_shapes_beyond_the_kernels_count() -> None:
    cases = [case for case in source_cases() if "output_shape" in case.name]
    assert len(cases) > 3
    verdicts = {str(case): check_case(case) for case in cases}
    assert {name: verdict.reason for name, verdict in verdicts.items() if verdict.kind == "wrong"} == {}
