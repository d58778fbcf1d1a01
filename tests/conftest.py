"""Marks by folder and file, shares of many cases, a cache of compiled kernels for one run of the suite, and the samples of `make fuzz`."""

from __future__ import annotations

import gc
import logging
import os
import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from sampling import FACTOR
from shares import SHARE, is_in_share

TESTS = Path(__file__).parent
NATIVE = ("compile/", "runtime/", "conformance/test_native", "conformance/test_official_native")
CONFORMANCE = (
    "conformance/",
    "check/test_check_official",
    "rewrite/test_official",
    "rewrite/test_every_case",
    "view/test_page_round_trip",
)
FUZZ = (
    "check/test_check_mutations",
    "compile/contracts/test_contracts",
    "compile/test_oversized_sizes",
    "compile/test_native_fuzz",
    "compile/test_operand_roles",
    "compile/test_unkind_graphs",
    "fuzz/test_size_mutants",
    "quantize/test_half_random",
    "rewrite/test_hostile_rewriting",
    "rewrite/test_random",
    "runtime/test_fault_location",
    "runtime/test_hostile_models",
    "runtime/test_program_round_trips",
    "tools/test_attribute_extremes",
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
    "project/test_readme",
    "project/test_recipes",  # compiles kernels
    "proto/test_binary_files",
    "proto/test_binary_laws",
    "proto/test_json",
    "proto/test_text_against_wheel",
    "proto/test_text_round_trip",
    "rewrite/test_inline_functions",
    "runtime/test_native_subgraphs",
    "runtime/test_interrupts",
    "runtime/test_cached_programs",
    "runtime/test_program_round_trips",
    "runtime/test_thread_pool",
)
MAX_STORED_BYTES = 1 << 30  # of kernels of earlier runs; several versions of the sources
initial_states: dict[str, dict[str, Mapping[str, Any]]] = {}  # of generators, by module and name
MARKS = {"native": NATIVE, "conformance": CONFORMANCE, "fuzz": FUZZ, "slow": SLOW}

# Default number of examples of Hypothesis tests, which are the same in each run: only `make fuzz` draws others.
# No limits of time but that of pytest-timeout: other processes may use the cores.
settings.register_profile(
    "sardonyx",
    max_examples=100 * FACTOR,
    derandomize=FACTOR == 1,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("sardonyx")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    os.environ.pop("SARDONYX_SHARE", None)  # tests that start pytest run what they name
    if SHARE != "all":
        left_out = [item for item in items if not belongs_to_share(item)]
        items[:] = [item for item in items if belongs_to_share(item)]
        config.hook.pytest_deselected(items=left_out)
    for item in items:
        marks = marks_of(item.path)
        for mark in marks:
            item.add_marker(mark)
        if (
            "conformance" in marks
        ):  # official cases feed sequences whose elements differ in a size that has one name
            item.add_marker(pytest.mark.filterwarnings("ignore::sardonyx.ShapeWarning"))


def belongs_to_share(item: pytest.Item) -> bool:
    """Whether the share that runs has a test; random samples belong to the rest."""
    if "fuzz" in marks_of(item.path):
        return SHARE == "rest"
    return is_in_share(item.nodeid)


@pytest.fixture(autouse=True, scope="session")
def _models_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for the files that the runner of the onnx wheel writes, which would take the user's home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONNX_MODELS", str(tmp_path_factory.mktemp("onnx_models")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_progress_lines() -> Iterator[None]:
    """No lines about sessions that open slowly on a busy machine, which would be among what tests expect of a stream."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sardonyx._src.runtime.session.activity.LINES_DELAY", 3600.0)
        yield


@pytest.fixture(autouse=True)
def _equal_draws(request: pytest.FixtureRequest) -> None:
    """Generators of random numbers that tests of a module share start anew, whatever ran before and in which worker."""
    for name, value in vars(request.module).items():
        if isinstance(value, np.random.Generator):
            states = initial_states.setdefault(request.module.__name__, {})
            value.bit_generator.state = states.setdefault(name, value.bit_generator.state)


@pytest.fixture(autouse=True)
def _equal_logging() -> Iterator[None]:
    """Loggers of the package are left as they were: others hide warnings that later tests expect, or show them more."""
    before = {logger: (logger.level, logger.propagate, logger.disabled) for logger in package_loggers()}
    yield
    for logger in package_loggers():
        level, logger.propagate, logger.disabled = before.get(logger, (logging.NOTSET, True, False))
        logger.setLevel(level)


def package_loggers() -> list[logging.Logger]:
    known = logging.root.manager.loggerDict.items()
    return [item for name, item in known if name.startswith("sardonyx") and isinstance(item, logging.Logger)]


@cache
def marks_of(path: Path) -> tuple[str, ...]:
    """The marks of a test file."""
    name = path.relative_to(TESTS).as_posix()
    return tuple(mark for mark, beginnings in MARKS.items() if name.startswith(beginnings))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection, and exclude what that leaves in memory from it.

    A pass over tens of thousands of tests and the modules takes longer than most tests, some of which collect garbage
    several times.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Use a separate cache folder for the run, unless `SARDONYX_CACHE` names one, and one for bytecode if none is written.

    The workers of the run and the processes that tests start share them.  Programs in the user's folder may be those of
    other sources of the operators.  Defects of the compiler fail tests, instead of being made good by the reference engine.
    Without bytecode, each process would compile the modules that it imports.
    """
    os.environ.setdefault("SARDONYX_FATAL_DEFECTS", "1")
    if "SARDONYX_CACHE" not in os.environ:
        os.environ["SARDONYX_CACHE"] = folder = make_run_folder(config)
        if (cache := getattr(config, "cache", None)) is not None:
            reuse_kernels(config, Path(folder), cache.mkdir("kernels"))
    if os.environ.get("PYTHONDONTWRITEBYTECODE") and "PYTHONPYCACHEPREFIX" not in os.environ:
        os.environ["PYTHONPYCACHEPREFIX"] = make_run_folder(config)
        del os.environ["PYTHONDONTWRITEBYTECODE"]


def make_run_folder(config: pytest.Config) -> str:
    """A temporary folder that is removed at the end of the run."""
    folder = tempfile.TemporaryDirectory(prefix="sardonyx-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    return folder.name


def reuse_kernels(config: pytest.Config, folder: Path, stored: Path) -> None:
    """Adds the kernels of earlier runs of the suite to the cache folder of this one, and stores those of this run.

    Kernels are stored under the processor and the sources of the compiler, so that only those are found that would be
    compiled again to the same code.  Compiled programs are not reused: they would leave the compiler untested.
    """
    for path in stored.glob("*.o"):
        try:
            os.link(path, folder / path.name)
        except OSError:  # another file system
            shutil.copy2(path, folder)
    config.add_cleanup(lambda: store_kernels(folder, stored))


def store_kernels(folder: Path, stored: Path) -> None:
    from sardonyx._src.compile.llvm.cache import ObjectCache

    stored.chmod(0o700)  # of code
    for path in folder.glob("*.o"):
        if not (stored / path.name).exists():
            shutil.move(path, stored / path.name)
    ObjectCache(stored, MAX_STORED_BYTES).trim()


@pytest.fixture
def long_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the files of a test mapped, as long ones are, and not read at once."""
    from sardonyx._src.io import mapped_files

    monkeypatch.setattr(mapped_files, "READ_UP_TO_BYTES", 0)
