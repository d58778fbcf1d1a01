"""Programs of made-up steps, for tests of memory plans and of verifiers."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.program import Buffer, Kernel, Step, TensorView, row_major_strides
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.memory.memory_plan import plan_memory
from sardonyx._src.compile.program.steps.program import Action, Program
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Model
from sardonyx._src.ir.dims import Known, dim_product

NOTHING = Kernel("nothing", lambda name, target: "")
STATUS = TensorView(DataType.INT64, (1,), (1,), Buffer("status", 8, "status"))


def tensor(name: str, *shape: Known, role: str = "arena", dtype: DataType = DataType.FLOAT) -> TensorView:
    buffer = Buffer("arena" if role == "arena" else "input", 4 * dim_product(shape), name)
    return TensorView(dtype, shape, row_major_strides(shape), buffer)


X = tensor("x", 2, 3, role="input")


def step(reads: Sequence[TensorView], *writes: TensorView, in_place: bool = True) -> Step:
    return Step(NOTHING, (*reads, *writes), 1, tuple(reads), writes, in_place=in_place)


def program(actions: Sequence[Action], sizes: Sequence[str] = ()) -> Program:
    """A program of these actions, with symbolic dims of these names."""
    model = Model(Graph(), ir_version=10, opset_imports={})
    return Program(model, list(actions), {name: (name, 0) for name in sizes}, {}, {}, STATUS)


def plan(*actions: Action, sizes: Sequence[str] = ()) -> MemoryPlan:
    return plan_memory(program(actions, sizes))
