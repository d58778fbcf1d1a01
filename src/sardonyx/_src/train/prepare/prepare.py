"""`prepare`: a training model made from an inference model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sardonyx._src.arguments import items_of, require_flag, require_text, require_type
from sardonyx._src.compile.program.memory.recomputation import MemoryGoal
from sardonyx._src.convert.conversion import convert
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.grad.detection import DOMAIN
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import Graph, Model, Tensor, TensorType, Type, Value
from sardonyx._src.ir.model import Note, TrainingInfo, clone
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import roots, values
from sardonyx._src.train.algorithm_builder import AlgorithmBuilder
from sardonyx._src.train.checkpointing import check_goal, write_goal
from sardonyx._src.train.losses.base import Loss, LossContext, LossValues, check_number
from sardonyx._src.train.losses.table import loss_of
from sardonyx._src.train.optimizers.base import Optimizer, OptimizerStep, TrainedTensor
from sardonyx._src.train.optimizers.schedules import ConstantSchedule, check_steps, schedule_of
from sardonyx._src.train.optimizers.table import optimizer_of
from sardonyx._src.train.prepare.folded_norms import note_folded_norms
from sardonyx._src.train.prepare.gradients import (
    LossScale,
    StepControl,
    accumulate_gradients,
    adapt_scale,
    add_gradients,
    clip_by_norm,
    clip_by_value,
)
from sardonyx._src.train.prepare.initialization import (
    Initialization,
    InitializationGraph,
    check_initialization,
    check_patterns,
    draw_of,
)
from sardonyx._src.train.prepare.selection import (
    ParameterGroup,
    Patterns,
    find_prediction,
    group_parameters,
    select_trainable,
    unwrap_link,
)
from sardonyx._src.train.prepare.targets import write_targets
from sardonyx._src.train.prepare.training_mode import TrainingForward, build_training_forward
from sardonyx._src.train.prepare.weight_notes import note_weights

MIN_OPSET = 15  # the first in which the statistics of BatchNormalization may have another type than its data
MIN_IR_VERSION = 7  # the first IR version with training information
HALF = (DataType.FLOAT16, DataType.BFLOAT16)
LOSS, ACCURACY = "loss", "accuracy"


def prepare(
    model: Model,
    *,
    loss: Loss | Model | str = "cross_entropy",
    optimizer: Optimizer | str = "adam",
    output: str | None = None,
    target: str = "target",
    trainable: Patterns | None = None,
    frozen: Patterns = (),
    groups: Sequence[ParameterGroup] = (),
    clip_norm: float | None = None,
    clip_value: float | None = None,
    accumulate: int = 1,
    training_mode: bool = True,
    loss_scale: LossScale | float | None = None,
    initialization: Initialization | None = None,
    seed: int = 0,
    checkpointing: MemoryGoal | None = None,
) -> Model:
    """A copy of a model with training information: a step that computes a loss, its gradients and an update.

    The inference graph stays as it is.  The step has an input called `target`, or several if the loss needs more.  Its outputs
    are `loss` and, for classifications, `accuracy`, both float32 scalars, and the new values of its state variables.

    loss: a `Loss`, the name of one, or a model whose first output is the loss; its inputs are values of the main graph by
        name, and targets.
    output: the value of the main graph that is compared with the target; by default the only floating-point output.
    trainable, frozen: names of initializers, or patterns with `*` and `?`, which match only weights.  By default all weights
        that the output depends on are trained, but no constants that an exporter wrote as initializers, no masks and no
        running statistics; docs/training.md has the rule.
    groups: parameters with other learning rates and weight decays.
    clip_norm: the largest norm of all gradients together.
    clip_value: the largest magnitude of an element of a gradient.
    accumulate: the number of steps whose mean gradient makes one update.
    training_mode: whether Dropout drops, and BatchNormalization uses the statistics of the batch and updates the running
        statistics; the step then has copies of the nodes that compute something else in training.
    loss_scale: the factor of the loss for trained half-precision weights, which have float32 master copies as state; by
        default dynamic for float16 and 1 for bfloat16.
    initialization: how `initialize` sets the weights: a distribution ("he_normal", "he_uniform", "glorot_normal",
        "glorot_uniform", "zeros", "ones", "stored") or a standard deviation, for all weight matrices, or a mapping of
        patterns to these; None leaves them.
    seed: the seed of the first draw of the initialization.
    checkpointing: the goal for the memory of activations, written to the metadata of the model: "auto", or the bytes that the
        results of nodes should need at most.  The native engine then keeps fewer results for the gradients and computes
        the others again; None keeps all.

    Models below operator set 15 are converted to it, which `Model.notes` says.  Raises InputError for arguments that do not
    fit the model, TypeError for arguments of other types, ConversionError, and InferenceError for a model whose types
    contradict each other.
    """
    options = Options.checked(
        optimizer, groups, clip_norm, clip_value, accumulate, loss_scale, initialization, seed
    )
    require_type("model", model, Model, "a Model")
    require_text("target", target)
    if output is not None:
        require_text("output", output)
    require_flag("training_mode", training_mode)
    check_goal(checkpointing)
    if not target:
        raise InputError("target must be a name; got an empty text", name="target")
    result = with_training_versions(model)
    types = value_types(result)
    if isinstance(loss, Model):
        from sardonyx._src.train.losses.graph_loss import GraphLoss  # lazy: it imports the converter's tools

        loss = GraphLoss(loss)
    chosen = loss_of(loss)
    prediction = unwrap_link(find_prediction(result, types, output), chosen)
    weights = select_trainable(result, prediction, trainable, frozen)
    note_weights(result, prediction, weights)
    step = StepBuilder(result, options, prediction, weights, types)
    step.build(chosen, target, training_mode)
    write_goal(result, checkpointing)
    if training_mode:
        note_folded_norms(result)
    return result


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `prepare` that do not depend on the model."""

    optimizer: Optimizer
    groups: Sequence[ParameterGroup]
    clip_norm: float | None
    clip_value: float | None
    accumulate: int
    loss_scale: LossScale | float | None
    initialization: Initialization | None
    seed: int

    @classmethod
    def checked(
        cls,
        optimizer: Optimizer | str,
        groups: Sequence[ParameterGroup],
        clip_norm: float | None,
        clip_value: float | None,
        accumulate: int,
        loss_scale: LossScale | float | None,
        initialization: Initialization | None,
        seed: int,
    ) -> Options:
        """The checked options; raises InputError for an argument that is out of range."""
        for name, limit in (("clip_norm", clip_norm), ("clip_value", clip_value)):
            if limit is not None:
                check_number(name, limit, 0, math.inf, open_low=True)
        check_steps("accumulate", accumulate)
        if loss_scale is not None and not isinstance(loss_scale, LossScale):
            check_number("loss_scale", loss_scale, 0, math.inf, open_low=True)
        check_initialization(initialization)
        groups = items_of("groups", groups, ParameterGroup, "ParameterGroups")
        return cls(
            optimizer_of(optimizer),
            groups,
            clip_norm,
            clip_value,
            accumulate,
            loss_scale,
            initialization,
            seed,
        )


def with_training_versions(model: Model) -> Model:
    """A copy of the model in versions that training information requires."""
    opset = model.opset_imports.get("", MIN_OPSET)
    result = clone(model) if opset >= MIN_OPSET else convert(model, MIN_OPSET)
    if opset < MIN_OPSET:
        text = f"the operator set was converted from {opset} to {MIN_OPSET}, which training requires"
        result.notes.append(Note("opset_import", text))
    result.opset_imports.setdefault("", MIN_OPSET)
    result.opset_imports[DOMAIN] = 1
    result.ir_version = max(result.ir_version, MIN_IR_VERSION)
    return result


def value_types(model: Model) -> dict[str, Type | None]:
    """The inferred types of the values of the main graph by name."""
    return {v.name: v.type for v in values(infer(clone(model)).graph)}


class StepBuilder:
    """Writes one training step of a model."""

    def __init__(
        self,
        model: Model,
        options: Options,
        prediction: Value,
        weights: Sequence[Value],
        types: dict[str, Type | None],
    ) -> None:
        self.model, self.options, self.prediction, self.weights = model, options, prediction, weights
        self.types = types
        self.names = FreshNames.of_graphs(roots(model))
        self.graph = Graph(self.names.fresh("training"))
        self.b = AlgorithmBuilder(self.graph, model.opset_imports[""], self.names)
        self.control = StepControl(self.b, {})
        self.masters = {w: self.master_copy(w) for w in weights if tensor_of(w).dtype in HALF}

    def build(self, loss: Loss, target: str, training_mode: bool) -> None:
        """Adds the step to the model."""
        forward = TrainingForward()
        if training_mode:
            forward = build_training_forward(self.model, self.b, self.prediction, self.weights)
        context = self.loss_context(target, forward)
        values = loss.build(context)
        losses = self.name_outputs(values, context.dtype)
        gradients = self.gradients(values.loss)
        self.update(gradients)
        for statistic, new in forward.statistics.items():
            self.control.states[statistic] = new
        self.finish(losses)
        write_targets(self.model, context.labels)

    def loss_context(self, target: str, forward: TrainingForward) -> LossContext:
        """The context of the loss, with the prediction as it is in training, in float32 or float64."""
        type = self.types.get(self.prediction.name)
        if not isinstance(type, TensorType):
            raise InputError(
                f"the type of {self.prediction.name!r} must be known; declare it in value_info", name="output"
            )
        value = forward.copier.resolve(self.prediction)
        if type.dtype is not DataType.DOUBLE:
            value = self.b.cast(value, type.dtype, DataType.FLOAT)
            type = TensorType(DataType.FLOAT, type.shape)
        by_name = {v.name: forward.copier.resolve(v) for v in values(self.model.graph)}
        return LossContext(self.b, value, type, self.model, by_name, self.types, target)

    def name_outputs(self, values: LossValues, dtype: DataType) -> list[Value]:
        """The outputs of the step for its caller: the loss and the accuracy, named and typed."""
        result = []
        for stem, value, kind in (
            (LOSS, values.loss, dtype),
            (ACCURACY, values.accuracy, DataType.FLOAT),
        ):
            if value is not None:
                value.name, value.type = self.names.fresh(stem), TensorType(kind, ())
                result.append(value)
        return result

    def master_copy(self, weight: Value) -> Value:
        """A state with the float32 value of a half-precision weight."""
        content = Tensor.of(tensor_of(weight).numpy().astype("float32"))
        return self.b.new_constant(f"{weight.name}_master", content)

    def work_type(self, weight: Value) -> tuple[DataType, tuple[int, ...]]:
        """The element type in which a weight is updated, and its shape."""
        tensor = tensor_of(weight)
        return (DataType.FLOAT if weight in self.masters else tensor.dtype), tensor.shape

    def gradients(self, loss: Value) -> list[Value]:
        """The gradient of each weight in its work type, as the optimizer receives it."""
        b, options = self.b, self.options
        loss_type = loss.type.dtype if isinstance(loss.type, TensorType) else DataType.FLOAT
        scale = self.scale_value()
        target = loss if scale is None else b.Mul(loss, b.cast(scale, DataType.FLOAT, loss_type))
        inputs = [*self.model.graph.inputs, *self.graph.inputs]
        others = [v for v in inputs if v.initializer is None]
        results = add_gradients(b, target, self.weights, others)
        types = [self.work_type(w) for w in self.weights]
        dtypes = [dtype for dtype, _ in types]
        for i, (weight, dtype) in enumerate(zip(self.weights, dtypes, strict=True)):
            results[i] = b.cast(results[i], tensor_of(weight).dtype, dtype)
            if scale is not None:
                results[i] = b.Div(results[i], b.cast(scale, DataType.FLOAT, dtype))
        results = accumulate_gradients(self.control, results, types, options.accumulate)
        rule = self.scale_rule()
        if isinstance(rule, LossScale) and scale is not None:
            adapt_scale(self.control, scale, rule, results, dtypes)
        if options.clip_value is not None:
            results = clip_by_value(b, results, dtypes, options.clip_value)
        if options.clip_norm is not None:
            results = clip_by_norm(b, results, dtypes, options.clip_norm)
        return results

    def scale_rule(self) -> LossScale | float | None:
        """The loss scale: a rule, a fixed factor, or None for 1."""
        if self.options.loss_scale is not None:
            return self.options.loss_scale
        has_float16 = any(tensor_of(w).dtype is DataType.FLOAT16 for w in self.weights)
        return LossScale() if has_float16 else None

    def scale_value(self) -> Value | None:
        match self.scale_rule():
            case None:
                return None
            case LossScale(initial=initial):
                return self.control.new_state("train_loss_scale", initial, DataType.FLOAT)
            case factor:
                return self.b.scalar(factor)

    def update(self, gradients: Sequence[Value]) -> None:
        """Adds the optimizer, and the new values of its states and of the weights."""
        b, optimizer, control = self.b, self.options.optimizer, self.control
        updates = control.new_state("train_updates", 0, DataType.INT64)
        schedule = schedule_of(optimizer.rate)
        is_constant = isinstance(schedule, ConstantSchedule)
        rate = schedule.build(b, updates if is_constant else b.Cast(updates, to=DataType.FLOAT))
        by_weight = dict(zip(self.weights, gradients, strict=True))
        for group, members in group_parameters(self.weights, self.options.groups, optimizer.weight_decay):
            factor = group.rate_factor
            own = rate if factor == 1 else b.Mul(rate, b.scalar(factor))
            decay = optimizer.weight_decay if group.weight_decay is None else group.weight_decay
            step = OptimizerStep(b, updates, own, decay)
            parameters = {self.parameter(w, by_weight[w]): w for w in members}
            new_values = optimizer.build(step, list(parameters))
            for state, new in step.states.items():
                control.states[state] = control.only_if_applied(new, state)
            for parameter, weight in parameters.items():
                self.assign(weight, new_values[parameter])
        following = b.Add(updates, b.scalar(1, DataType.INT64))
        control.states[updates] = control.only_if_applied(following, updates)

    def parameter(self, weight: Value, gradient: Value) -> TrainedTensor:
        dtype, shape = self.work_type(weight)
        return TrainedTensor(weight.name, self.masters.get(weight, weight), gradient, dtype, shape)

    def assign(self, weight: Value, new: Value) -> None:
        """Makes `new` the next value of a weight, and of its master copy."""
        master = self.masters.get(weight)
        if master is None:
            self.control.states[weight] = self.control.only_if_applied(new, weight)
            return
        self.control.states[master] = applied = self.control.only_if_applied(new, master)
        self.control.states[weight] = self.b.Cast(applied, to=tensor_of(weight).dtype)

    def finish(self, losses: Sequence[Value]) -> None:
        """Adds outputs, bindings and the initialization graph, and the step to the model."""
        self.graph.outputs = list(losses)
        updates: list[tuple[Value, Value]] = []
        for state, new in self.control.states.items():
            tensor = tensor_of(state)
            new.type = TensorType(tensor.dtype, tensor.shape)
            new.name = self.names.fresh(f"next_{state.name}")
            self.graph.outputs.append(new)
            updates.append((state, new))
        check_patterns(self.options.initialization, self.model)
        first = self.initialization()
        has_first = bool(first.bindings)
        info = TrainingInfo(first.graph if has_first else None, self.graph, first.bindings, updates)
        self.model.training.append(info)

    def initialization(self) -> InitializationGraph:
        """The reset of the states of the step, and of the weights as far as `initialization` says."""
        options = self.options
        result = InitializationGraph.new(self.b.imports[""], self.names, options.seed)
        masters = set(self.masters.values())
        for state in self.control.states:
            if state.graph is self.graph and state not in masters:
                result.reset(state)
        for weight in self.weights:
            draw = draw_of(options.initialization, weight)
            if draw is not None:
                result.draw(weight, self.masters.get(weight), draw)
        return result


def tensor_of(value: Value) -> Tensor:
    """The tensor of a dense initializer."""
    assert isinstance(value.initializer, Tensor), f"{value!r} has no tensor"
    return value.initializer
