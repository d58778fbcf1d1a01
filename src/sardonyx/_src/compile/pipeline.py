"""Compilation pipeline: from a model to an executable program, in six stages.

Each stage is a function from one value to the next; every value can be verified (`verify.py`) and printed (`printing`).

1. prepare: a copy of the model, converted to the newest opset, optimized, promoted from half precision.
2. partition: the graph as regions, each an anchor node with what is fused into its kernel, and guards.
3. assign_layouts: the tensors that each region reads and writes; copies between layouts.
4. lower: the steps of each region.  Updates of states are then moved right after what they depend on
   (`early_updates`).  `compile_bindings` adds the kernels of steps that bind sizes during a run, and LLVM compiles them
   in the background.  If the metadata of a training model ask for it, activations are recomputed (`recomputation`).
   `in_place_outputs` then finds the outputs that a run may write in the memory of inputs.
5. plan_memory: live ranges, in-place aliases, and where the buffers of the arena are.
6. encode_program: i64 slots, size functions and relocations for the executor.

Other packages, apart from tests of a stage, call the functions of this module only.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.layouts.assignment import assign_layouts
from sardonyx._src.compile.layouts.laid_out import LaidOutGraph
from sardonyx._src.compile.layouts.verify import verify_layouts
from sardonyx._src.compile.llvm.async_compile import start_worker
from sardonyx._src.compile.llvm.interpreted_code import has_interpreter
from sardonyx._src.compile.llvm.loaded_kernels import compile_kernel_async
from sardonyx._src.compile.lower.driver import lower
from sardonyx._src.compile.partition import RegionGraph, Scope
from sardonyx._src.compile.partition.partitioner.partition import partition
from sardonyx._src.compile.partition.partitioner.verify import verify_regions
from sardonyx._src.compile.partition.regions.registry import is_supported
from sardonyx._src.compile.prepare.prepare import PreparedModel, prepare_model
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.encoding.encoding import encode_program
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.local_sizes import compile_bindings
from sardonyx._src.compile.program.memory.early_updates import advance_updates
from sardonyx._src.compile.program.memory.memory_plan import plan_memory
from sardonyx._src.compile.program.memory.recomputation import goal_of, recompute
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.verification.defects import RefusedRegions, typed_defects
from sardonyx._src.compile.program.verification.in_place_outputs import find_in_place_outputs
from sardonyx._src.compile.program.verification.verify import verify_program
from sardonyx._src.compile.program.verification.verify_memory_plan import verify_memory_plan
from sardonyx._src.errors import CompilationError, are_defects_fatal
from sardonyx._src.ir import Model, Node
from sardonyx._src.rewrite.support.evaluate import Evaluate, evaluate_node


def compile_model(
    model: Model,
    target: Target,
    *,
    verify: bool = False,
    tolerant: bool = False,
    assumptions: Assumptions = (),
    precision: Precision = EXACT,
    evaluate: Evaluate = evaluate_node,
) -> Executable:
    """Compiles a model, under the assumption that callers override no initializer.

    verify: whether to verify the result of each stage.
    tolerant: whether a node at which the compiler fails is left to its reference kernel, and a failing pass is left
        out; `Executable.defects` then lists the failures.
    assumptions: the assumptions that the program relies on; it checks ranks, and returns conditions as additional
        outputs (`Program.assumed_branches`).
    precision: the element type to which factors of float32 products are rounded, if the target has such products.
    evaluate: evaluates nodes on constants; by default by reference kernels, whose bits may depend on the processor.

    Raises CompilationError, which names the node, unless `tolerant`; and one that names the stage for a result that a
    verifier rejects.  A failure that concerns no single node raises its own exception.
    """
    return compile_stages(
        model,
        target,
        verify=verify,
        tolerant=tolerant,
        assumptions=assumptions,
        precision=precision,
        evaluate=evaluate,
    )[1]


def compile_stages(
    model: Model,
    target: Target,
    *,
    verify: bool = False,
    tolerant: bool = False,
    assumptions: Assumptions = (),
    precision: Precision = EXACT,
    evaluate: Evaluate = evaluate_node,
) -> tuple[LaidOutGraph, Executable]:
    """All stages of a model: the regions with their layouts, and the executable.

    Expressions of sizes have a limited length.  If those of a step exceed it, its region is refused; so is a region at
    which the compiler fails, if that is tolerated.  The stages are then repeated, with the refused nodes as
    fallbacks.  Each repetition refuses more nodes, so that the repetitions end.
    """
    defects: list[CompilationError] | None = [] if tolerant else None
    prepared = prepare_model(model, is_supported, defects, assumptions=assumptions, evaluate=evaluate)
    prepared = replace(prepared, precision=precision)
    if (prepared.sizes or prepared.data_dependent_sizes) and not has_interpreter("sizes", target):
        start_worker()  # it loads LLVM, which the size function needs, beside the stages
    refused: frozenset[Node] = frozenset()
    while True:
        try:
            laid_out, executable = compile_prepared(prepared, target, refused, verify=verify)
        except RefusedRegions as refusal:
            newly_refused = refusal.nodes - refused
            if defects is None or not newly_refused:
                raise_defect_of(refusal)  # returns if sizes were too long, which is no defect
            assert newly_refused, "a refused node must have no region"
            refused |= newly_refused
            if defects is not None:
                defects += refusal.errors()
            continue
        return laid_out, replace(executable, defects=tuple(defects or ()))


def compile_prepared(
    prepared: PreparedModel, target: Target, refused: frozenset[Node], *, verify: bool
) -> tuple[LaidOutGraph, Executable]:
    """The stages after preparation; raises RefusedRegions for nodes that cannot be compiled."""
    regions = partition(Scope(prepared, target, refused=refused))
    if regions.scope.defects:
        raise RefusedRegions(frozenset(regions.scope.defects), "partition", regions.scope.defects)
    if verify:
        with typed_defects("verify regions"):
            verify_regions(regions)
    laid_out = assign_layouts(regions)
    if verify:
        with typed_defects("verify layouts"):
            verify_layouts(laid_out)
    program = compile_bindings(advance_updates(lower(laid_out, target)))
    for step in program.steps:
        if step.binds is not None:
            compile_kernel_async(step.kernel)
    goal = goal_of(prepared.model.metadata)
    if goal is not None:
        program = recompute(program, goal)
    program = replace(program, in_place=find_in_place_outputs(program))
    plan = plan_memory(program)
    executable = Executable(program, plan, encode_program(program, plan))
    if verify:
        with typed_defects("verify program"):
            verify_program(executable.program)
        with typed_defects("verify memory plan"):
            verify_memory_plan(executable.program, executable.plan)
    return laid_out, executable


def raise_defect_of(refusal: RefusedRegions) -> None:
    """Raises the first defect that regions are refused for; returns if there is none."""
    for defect, error in zip(refusal.defects.values(), refusal.errors(), strict=True):
        raise defect if are_defects_fatal() else error


def partition_model(model: Model, target: Target) -> RegionGraph:
    """The first two stages: the regions of a prepared copy of the model."""
    return partition(Scope(prepare_model(model, is_supported), target))
