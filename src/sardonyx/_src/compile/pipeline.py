"""Compilation pipeline: from a model to a program of kernel calls for a target."""

from __future__ import annotations

from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import has_lowering
from sardonyx._src.compile.prepare.prepare import prepare_model
from sardonyx._src.compile.program.program import Program
from sardonyx._src.ir.model import Model


def lower_model(model: Model, target: Target) -> Program:
    """Compiles a model to a program, under the assumption that callers override no initializer.

    1. prepare: a copy of the model is converted to the newest opset, optimized, and promoted from half precision.
    2. lower: each node emits the steps of its kernels; fusion (`partition`) and layouts (`layouts`) are decided on demand.
    The caller then plans memory (`program.memory_plan`), compiles kernels (`llvm`) and encodes the program
    (`program.encoding`) for the executor.
    """
    return Lowering(prepare_model(model, has_lowering), target).lower_graph()
