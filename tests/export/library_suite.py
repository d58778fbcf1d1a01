"""The official suite through libraries: each case as a shared library, beside the session that runs the same model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import sardonyx as sx
from conformance.official import OfficialCase
from export.loaded_library import LoadedLibrary
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.export.functions import compile_library
from sardonyx._src.export.interface import fed_inputs
from sardonyx._src.export.library import CompiledLibrary
from sardonyx._src.export.preparation import fix_inputs
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.ir import Array, Model
from sardonyx._src.runtime.runs.native_program import compile_for_host

MAX_ROUNDS = 4  # of parameters, of which some only appear when others are constants


@dataclass(frozen=True)
class CaseResult:
    """What became of a case: equal bits, perhaps with parameters as constants, or the reason why there is no library.

    constants: the inputs that are constants of the library.
    """

    name: str
    is_equal: bool
    reason: str = ""
    constants: tuple[str, ...] = ()


def run_case(case: OfficialCase, folder: Path) -> CaseResult:
    """Runs all data sets of a case; raises AssertionError for results with other bits than the session's."""
    model = case.load()
    names = [value.name for value in fed_inputs(model.graph)]
    for inputs, _ in case.data_sets(model):
        feeds = dict(zip(names, inputs, strict=False))
        if not all(isinstance(x, np.ndarray) and x.dtype != object for x in feeds.values()):
            return CaseResult(case.name, False, "feeds that are no tensors of numbers")
        arrays = {name: x for name, x in feeds.items() if isinstance(x, np.ndarray)}
        constants: tuple[str, ...] = ()
        try:
            library, constants = compile_with_parameters(model, arrays, folder)
        except SardonyxError as error:
            return CaseResult(case.name, False, str(error), constants)
        compare(model, library, arrays, case.name)
    return CaseResult(case.name, True, "", constants)


def compile_with_parameters(
    model: Model, feeds: Mapping[str, Array], folder: Path
) -> tuple[CompiledLibrary, tuple[str, ...]]:
    """The library of a model, with the inputs that nodes read as parameters as constants where it needs them."""
    constants: dict[str, object] = {}
    for _ in range(MAX_ROUNDS):
        try:
            return compile_library(model, folder, emit="shared", constants=constants), tuple(constants)
        except InputError:
            parameters = parameters_of(model, constants)
            if not set(parameters) - constants.keys():
                raise
            constants |= {name: feeds[name] for name in parameters}
    return compile_library(model, folder, emit="shared", constants=constants), tuple(constants)


def parameters_of(model: Model, constants: Mapping[str, object]) -> tuple[str, ...]:
    fixed = fix_inputs(without_gradient_nodes(model), {}, constants)
    return compile_for_host(fixed).program.parameters


def compare(model: Model, library: CompiledLibrary, feeds: Mapping[str, Array], where: str) -> None:
    """Asserts that a library returns the bits of a session."""
    expected = sx.Session(model, engine="native", threads=1).run(dict(feeds))
    results = LoadedLibrary(library).run(feeds)
    for name, value in expected.items():
        result, array = results[name], np.asarray(value)
        assert result.dtype == array.dtype and result.shape == array.shape, f"{where}: {name}"
        assert result.tobytes() == array.tobytes(), f"{where}: {name} must have the session's bits"
