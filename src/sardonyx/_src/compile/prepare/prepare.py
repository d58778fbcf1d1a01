"""Preparation of a model for lowering: newest operator set, optimized, half precision promoted, all types inferred again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from sardonyx._src.compile.prepare.assumed_branches import assume_branches, drop_known_conditions
from sardonyx._src.compile.prepare.assumed_elements import assume_elements
from sardonyx._src.compile.prepare.branch_continuations import duplicate_continuations
from sardonyx._src.compile.prepare.class_numbers import number_classes
from sardonyx._src.compile.prepare.data_dependent_sizes import DataDependentSizes, enclosing
from sardonyx._src.compile.prepare.decompose import decompose_nodes
from sardonyx._src.compile.prepare.fed_counts import name_counts, put_counts
from sardonyx._src.compile.prepare.legacy_opsets import newest_versions_are_equivalent
from sardonyx._src.compile.prepare.merge_convolutions import merge_convolutions
from sardonyx._src.compile.prepare.packed_weights import view_packed_weights
from sardonyx._src.compile.prepare.precision_classes import HasLowering
from sardonyx._src.compile.prepare.promote_half import promote_half_precision
from sardonyx._src.compile.prepare.required_sizes import replace_sizes, required_sizes, size_guards
from sardonyx._src.compile.prepare.seeded_random import fold_seeded_random
from sardonyx._src.compile.prepare.size_guards import guard_sizes
from sardonyx._src.compile.prepare.unsigned_activations import quantize_unsigned
from sardonyx._src.compile.program import EXACT, Guard, Precision
from sardonyx._src.compile.program.steps.assumptions import Assumptions, BranchTaken, elements_of, ranks_of
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.convert.conversion import convert, expand_vendor_operators
from sardonyx._src.convert.vendor_operators import classical_operators, vendor_operators
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError, ConversionError, InferenceError, LimitError
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.infer.incremental import IncrementalInference, RejectionRecorder
from sardonyx._src.infer.merge import open_elements
from sardonyx._src.ir import Graph, Model, SparseTensor, Tensor, TensorType, Value
from sardonyx._src.ir.dims import Expr, Known, symbol
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import graphs, nodes, roots
from sardonyx._src.logs import get_logger
from sardonyx._src.phases import phase
from sardonyx._src.rewrite.engine.driver import Budget
from sardonyx._src.rewrite.optimize import run_passes
from sardonyx._src.rewrite.pages import select_passes
from sardonyx._src.rewrite.report import OptimizationReport
from sardonyx._src.rewrite.shipped_passes import shipped_names
from sardonyx._src.rewrite.support.evaluate import Evaluate, evaluate_node
from sardonyx._src.schema import newest

T = TypeVar("T")
log = get_logger(__name__)
OPTIMIZE_SECONDS = 60.0
MAX_SKIPPED_PASSES = 3  # a model for which more passes fail is not optimized
MAX_FOLDED_BYTES = 1 << 31  # that constant folding may add in total, or in one constant: they are in no file
# Limits of a sparse initializer as a dense tensor: bytes, or a multiple of the stored data.
MAX_DENSE_BYTES, MAX_DENSE_GROWTH = 1 << 26, 64
FIRST_IR_WITH_SEPARATE_INITIALIZERS = 4  # initializers need not be inputs


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A private copy of a model, rewritten for the compiler, with inferred types.

    facts: types, shapes and known elements of its values.
    sizes: for each symbol of its shapes, the input and the axis whose length it is, as in `Program.sizes`.
    data_dependent_sizes: for each value with data-dependent sizes, the axes with their symbols.  A symbol has a
        meaning only in the graph of the value and in the graphs inside of it.
    assumed_branches: the additional outputs that are conditions, by name, with the branches that they must choose.
    guards: the relations between sizes of inputs that the program relies on.
    precision: the element type to which factors of float32 products are rounded.
    """

    model: Model
    facts: IncrementalInference
    sizes: Mapping[str, tuple[str, int]]
    data_dependent_sizes: Mapping[Value, Mapping[int, str]]
    assumed_branches: Mapping[str, BranchTaken]
    guards: Collection[Guard] = ()
    precision: Precision = EXACT

    def visible_symbols(self, graph: Graph) -> set[str]:
        """The symbols of the sizes of inputs, and of the sizes that are bound in a graph or in graphs around it."""
        visible = set(enclosing(graph))
        bound = (
            axes.values()
            for value, axes in self.data_dependent_sizes.items()
            if value.producer is not None and value.producer.graph in visible
        )
        return set(self.sizes).union(*bound)


@phase("prepare")
def prepare_model(
    model: Model,
    has_lowering: HasLowering,
    defects: list[CompilationError] | None = None,
    *,
    promotes: bool = True,
    assumptions: Assumptions = (),
    evaluate: Evaluate = evaluate_node,
) -> PreparedModel:
    """A prepared copy that computes the same results, for callers that override no initializer.

    has_lowering: whether an operator has kernels.
    defects: receives the failures of conversion, passes and promotion, which are then left out; None if they
        are raised.
    promotes: whether to compute half precision in float32.
    assumptions: the assumptions that the copy relies on; the conditions of assumed branches become additional
        outputs.
    """
    copy = strip_training_and_types(model)
    assume_elements(copy, elements_of(assumptions))
    sizes = name_sizes(copy)
    name_counts(copy, sizes)
    guards = guard_sizes(copy, sizes)
    forget_types(copy)
    copy.ir_version = max(copy.ir_version, FIRST_IR_WITH_SEPARATE_INITIALIZERS)
    copy = attempt(lambda: upgrade_opset(copy), "convert", defects) or copy
    fold_seeded_random(copy, MAX_FOLDED_BYTES)
    copy = optimize_tolerantly(copy, defects, evaluate)
    branches: dict[str, BranchTaken] = {}
    for round_ in assumptions:
        branches |= assume_branches(copy, round_)
        copy = optimize_tolerantly(copy, defects, evaluate)
        drop_known_conditions(copy, branches)
    ranks = ranks_of(assumptions)
    if duplicate_continuations(copy, lambda model: infer_sizes(model, sizes, ranks, {})):
        copy = optimize_tolerantly(copy, defects, evaluate)
    if attempt(lambda: decompose_nodes(copy, sizes.keys()), "decompose", defects):
        fold_seeded_random(copy, MAX_FOLDED_BYTES)
        copy = optimize_tolerantly(copy, defects, evaluate)
    number_classes(copy)
    quantize_unsigned(copy)
    merge_convolutions(copy)
    required: dict[str, Known] = {}
    facts, recorder = infer_sizes(copy, sizes, ranks, required)
    if promotes:
        promoted = attempt(lambda: promote_half_precision(copy, facts, has_lowering), "promote", defects)
        if promoted is None:
            return prepare_model(
                model, has_lowering, defects, promotes=False, assumptions=assumptions, evaluate=evaluate
            )
        if promoted:
            facts, recorder = infer_sizes(copy, sizes, ranks, required)
    return PreparedModel(copy, facts, sizes, recorder.axes, branches, guards | size_guards(required))


def attempt(action: Callable[[], T], stage: str, defects: list[CompilationError] | None) -> T | None:
    """The result of an action; None if it fails, and the failure is recorded."""
    try:
        return action()
    except DEFECTS as defect:
        if defects is None:
            raise
        defects.append(CompilationError.of(defect, stage=stage))
        return None


@phase("optimize")
def optimize_tolerantly(
    model: Model, defects: list[CompilationError] | None, evaluate: Evaluate = evaluate_node
) -> Model:
    """The optimized model.

    If failures are recorded in `defects`, failing passes are left out; if too many fail, the model is
    returned as it is.
    """
    skipped: list[str] = []
    budget = Budget(seconds=OPTIMIZE_SECONDS, growth=MAX_FOLDED_BYTES, result_growth=MAX_FOLDED_BYTES)
    while True:
        report = OptimizationReport()
        try:
            return run_passes(
                without_gradient_nodes(model),
                select_passes(shipped_names(), skipped),
                budget,
                report,
                evaluate=evaluate,
            )
        except (InferenceError, LimitError) as error:
            log.info("the model is compiled without optimization: %s", error)
            return model
        except DEFECTS as defect:
            if defects is None:
                raise
            defects.append(CompilationError.of(defect, stage=f"optimize, pass {report.running}"))
            if not report.running or report.running in skipped or len(skipped) >= MAX_SKIPPED_PASSES:
                return model
            skipped.append(report.running)


@phase("infer")
def infer_sizes(
    model: Model, sizes: Mapping[str, tuple[str, int]], ranks: Mapping[str, int], required: dict[str, Known]
) -> tuple[IncrementalInference, DataDependentSizes]:
    """Infers all types; sizes of inputs that nodes require to be certain dims are replaced by these, and added to `required`."""
    while True:
        recorder = DataDependentSizes(model.graph, sizes, ranks)
        facts = infer_types(model, recorder, sizes, required)
        new_sizes = required_sizes(model.graph, facts, sizes)
        if not new_sizes:
            return facts, recorder
        required |= new_sizes
        replace_sizes(model.graph, new_sizes)


def infer_types(
    model: Model,
    recorder: RejectionRecorder,
    sizes: Mapping[str, tuple[str, int]],
    required: Mapping[str, Known],
) -> IncrementalInference:
    """Infers all types from the types and the counts of the inputs."""
    forget_types(model)
    facts = IncrementalInference(model, recorder, folds_rounded=False)
    put_counts(model, facts, sizes, required)
    facts.walk()
    return facts


def strip_training_and_types(model: Model) -> Model:
    """A copy without training graphs, with initializers that callers cannot override, and dense tensors for sparse ones.

    Declared types are dropped, except the types of inputs and initializers.

    Raises LimitError for a sparse initializer that is too large to be dense.
    """
    copy = clone(model)
    copy.training.clear()
    graph = copy.graph
    for value in graph.inputs:
        if value.initializer is not None:
            graph.remove_input(value)
    for root in roots(copy):
        for inner in graphs(root):
            densify_initializers(inner)
    for value in graph.initializers.values():
        if isinstance(value.initializer, Tensor):
            value.type = TensorType(value.initializer.dtype, value.initializer.shape)
    forget_types(copy)
    return copy


def densify_initializers(graph: Graph) -> None:
    """Replaces the sparse initializers of a graph by dense tensors, since operators receive these.

    Raises LimitError for one that would grow too much: the model is then left to the reference engine, which
    does not store zeros.
    """
    for value in graph.initializers.values():
        if isinstance(sparse := value.initializer, SparseTensor):
            stored = sparse.values.nbytes + sparse.indices.nbytes
            dense = sparse.numpy(max(MAX_DENSE_BYTES, MAX_DENSE_GROWTH * stored))
            value.initializer = Tensor.of(dense, sparse.dtype, value.name)
            value.type = TensorType(sparse.dtype, sparse.shape)


def forget_types(model: Model) -> None:
    """Drops the types of all computed values: files may declare stale sizes, and kernels rely on sizes."""
    for root in roots(model):
        for node in nodes(root):
            for value in node.outputs:
                value.type = None


@phase("convert")
def upgrade_opset(model: Model) -> Model:
    """The model at the newest default operator set; unchanged if it cannot be converted.

    Operators of vendors and of ai.onnx.ml are replaced by their bodies, if they have any.
    """
    if not newest_versions_are_equivalent(model):
        log.info(
            "the model keeps its operator sets: newer versions accept other shapes or types than its own"
        )
        return model
    try:
        upgraded = convert(model, opset=newest(""))
        view_packed_weights(upgraded)
        replaced = vendor_operators(upgraded) | classical_operators(upgraded)
        for refused in expand_vendor_operators(upgraded, replaced):
            log.info("a reference kernel or body is called: %s", refused)
        return upgraded
    except (ConversionError, InferenceError) as error:
        log.info("the model keeps its operator sets: %s", error)
        return model


def name_sizes(model: Model) -> dict[str, tuple[str, int]]:
    """Gives every open dim of an input a symbol; returns the input and the axis of each symbol."""
    sizes: dict[str, tuple[str, int]] = {}
    for value in model.graph.inputs:
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            shape = tuple(bind_symbol(dim, value, axis, sizes) for axis, dim in enumerate(value.type.shape))
            value.type = TensorType(value.type.dtype, shape)
        else:
            value.type = open_elements(value.type)
    return sizes


def bind_symbol(dim: Known | None, value: Value, axis: int, sizes: dict[str, tuple[str, int]]) -> Known:
    """The dim as a number or one symbol; a dim that is an expression gets a symbol of its own."""
    if isinstance(dim, int):
        return dim
    if isinstance(dim, Expr):
        name = next(iter(dim.symbols()), "")
        if dim == symbol(name):
            sizes.setdefault(name, (value.name, axis))
            return symbol(name)
    name = f"{value.name}.{axis}"
    sizes[name] = (value.name, axis)
    return symbol(name)
