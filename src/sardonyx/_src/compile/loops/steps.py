"""Loops as steps of programs."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Kernel
from sardonyx._src.compile.loops.lowering import lowered
from sardonyx._src.compile.loops.printer import text
from sardonyx._src.compile.step import Kernel as Native
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.ir.dims import Expr, Known


def step(kernel: Kernel, tensors: Mapping[str, Tensor], sizes: Mapping[str, Known]) -> Step:
    """A call of a kernel: a dense tensor for each buffer, a dim for each size."""

    def source(name: str, target: Target) -> str:
        return lowered(kernel, name, target)

    for buffer in kernel.buffers:
        given = tensors[buffer.name]
        assert given.is_dense and given.dtype is buffer.dtype, f"{given} is no buffer {buffer.name}"
    units = kernel.units
    if isinstance(units, Expr):
        found = units.substitute(dict(sizes))
        assert found is not None, f"{units} is not known"
        units = found
    return Step(
        Native(text(kernel), source),
        (*(tensors[b.name] for b in kernel.buffers), *(sizes[name] for name in kernel.sizes)),
        units,
        reads=tuple(tensors[b.name] for b in kernel.buffers if b.role == "in"),
        writes=tuple(tensors[b.name] for b in kernel.buffers if b.role != "in"),
    )
