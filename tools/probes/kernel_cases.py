"""The cases of kernels that a wheel's self-test runs."""

from __future__ import annotations

from functools import cache

from probes import element_cases, image_cases, official_cases, product_cases, row_cases
from probes.case_builder import KernelCase


@cache
def kernel_cases() -> tuple[KernelCase, ...]:
    families = (product_cases, image_cases, row_cases, element_cases, official_cases)
    cases = tuple(case for family in families for case in family.cases())
    assert len({case.name for case in cases}) == len(cases), "names are unique"
    return cases
