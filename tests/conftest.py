"""Marks by folder and file, a cache of compiled kernels for one run of the suite, and the samples of `make fuzz`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from sampling import FACTOR

TESTS = Path(__file__).parent
NATIVE = ("compile/", "runtime/", "conformance/test_native", "conformance/test_official_native")
CONFORMANCE = (
    "conformance/",
    "check/test_check_official",
    "rewrite/test_official",
    "rewrite/test_every_case",
)
FUZZ = (
    "check/test_check_mutations",
    "compile/test_native_fuzz",
    "rewrite/test_hostile_rewriting",
    "rewrite/test_random",
    "runtime/test_hostile_models",
)
SLOW = (
    "check/test_check_fixes",
    "check/test_check_limits",
    "check/test_check_pairs",
    "cli/test_bench_verb",
    "cli/test_check_verb",
    "cli/test_streams",  # starts many processes
    "compile/",  # compiles thousands of kernels
    "interp/test_interpreter",
    "ir/test_dims_laws",
    "proto/test_binary_files",
    "proto/test_binary_laws",
    "proto/test_json",
    "proto/test_text_against_wheel",
    "proto/test_text_round_trip",
    "rewrite/test_inline_functions",
    "runtime/test_native_subgraphs",
    "runtime/test_interrupts",
    "runtime/test_cached_programs",
    "runtime/test_thread_pool",
    "test_readme",
)
MARKS = {"native": NATIVE, "conformance": CONFORMANCE, "fuzz": FUZZ, "slow": SLOW}

# Default number of examples of Hypothesis tests.
settings.register_profile("sardonyx", max_examples=100 * FACTOR)
settings.load_profile("sardonyx")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path.relative_to(TESTS).as_posix()
        for mark, beginnings in MARKS.items():
            if path.startswith(beginnings):
                item.add_marker(mark)


def pytest_configure(config: pytest.Config) -> None:
    """Use a separate cache folder for the run, unless `SARDONYX_CACHE` names one.

    The workers of the run and the processes that tests start share it.  Programs in the user's folder may be those of
    other sources of the operators.
    """
    if "SARDONYX_CACHE" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="sardonyx-tests-", ignore_cleanup_errors=True)
        os.environ["SARDONYX_CACHE"] = folder.name
        config.add_cleanup(folder.cleanup)
