"""`compile_library`: a model as a library for C."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from sardonyx._src.arguments import require_choice, require_flag, require_mapping, require_path, require_text
from sardonyx._src.compile.linker.features import machine_of
from sardonyx._src.compile.llvm.jit import compile_target
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import SardonyxError
from sardonyx._src.export.formats import EMITS, Emit
from sardonyx._src.export.image import link_code
from sardonyx._src.export.interface import interface_of, require_static_tensors
from sardonyx._src.export.library import CompiledLibrary, LibraryContents
from sardonyx._src.export.preparation import compile_for_library, fix_inputs, require_prefix
from sardonyx._src.export.refusals import require_kernels
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.program import check_kernels
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.runs.native_program import compile_for_host
from sardonyx._src.runtime.saved_programs.writing import refuse_c_functions


def compile_library(
    model: ModelSource,
    folder: str | os.PathLike[str],
    *,
    emit: Emit = "static",
    prefix: str = "model",
    weights_file: bool = False,
    processor: str | None = None,
    precision: Precision = EXACT,
    dims: Mapping[str, int] | None = None,
    constants: Mapping[str, object] | None = None,
) -> CompiledLibrary:
    """Compiles a model into a library for C, with its header, in a folder, which is created.

    emit: whether it is an object, an archive or a shared library.
    prefix: of its symbols and its files, an identifier of C.
    weights_file: whether the weights are a file of their own, which the caller maps and passes.
    processor: the class of the processors that will run it, as for `compile`; by default that of this one.
    precision: as for `Session`.
    dims: the lengths of dimension variables, all of which must be fixed.
    constants: values of inputs that become constants of the library, so that its callers do not pass them.
    Raises InputError for a model that needs more than kernels over fixed sizes, with the list of the nodes that do, and what
    a session raises for a model that cannot be run.
    """
    require_path("folder", folder)
    require_choice("emit", emit, EMITS)
    require_text("prefix", prefix)
    require_prefix(prefix)
    require_flag("weights_file", weights_file)
    if processor is not None:
        require_text("processor", processor)
    if dims is not None:
        require_mapping("dims", dims, str, (int, np.integer), "variables to sizes")
    if constants is not None:
        require_mapping("constants", constants, str, object, "inputs to elements")
    fixed = fix_inputs(without_gradient_nodes(resolve_model(model)), dims or {}, constants or {})
    require_static_tensors(fixed.graph)
    check_kernels(fixed)
    with compile_for_library(processor or ""):
        library = build_library(fixed, prefix, precision, passes_weights=weights_file)
    return library.write(Path(folder), emit)


def build_library(
    model: Model, prefix: str, precision: Precision, *, passes_weights: bool
) -> LibraryContents:
    """The library of a model with fixed sizes, for the class for which this context compiles.

    passes_weights: whether the caller passes the weights.
    """
    require_precision(precision)
    target = compile_target()
    if machine_of(target) is None:
        raise SardonyxError(f"libraries are for Linux on x86-64, AArch64 or RISC-V; got {target.triple}")
    with typed_defects("compile"), limit_nesting(), async_compilation():
        executable = compile_for_host(model, precision=precision)
        refuse_c_functions(executable.program)
        require_kernels(executable.program)
        interface = interface_of(model.graph, executable)
        code = link_code(executable.program.kernels, target, prefix, passes_weights=passes_weights)
    description = f"{model.graph.name or 'a model'}, for {target.class_name or target.cpu}"
    return LibraryContents(executable, interface, code, prefix, description, passes_weights=passes_weights)
