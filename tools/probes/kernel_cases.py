"""The cases of kernels that a wheel's self-test runs."""

from __future__ import annotations

from functools import cache

from probes import (
    call_cases,
    contract_cases,
    element_cases,
    image_cases,
    official_cases,
    product_cases,
    row_cases,
)
from probes.case_builder import KernelCase
from probes.step_cases import StepCase


@cache
def kernel_cases() -> tuple[KernelCase | StepCase, ...]:
    models = (product_cases, image_cases, row_cases, element_cases, official_cases)
    cases = (
        *(case for family in models for case in family.cases()),
        *contract_cases.cases(),
        *call_cases.cases(),
    )
    assert len({case.name for case in cases}) == len(cases), "names are unique"
    return cases
