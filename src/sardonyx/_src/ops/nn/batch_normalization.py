"""BatchNormalization: each channel normalized to mean 0 and variance 1 over the batch, then scaled and shifted.

Spec: ai.onnx BatchNormalization-1, -6, -7, -9, -14, -15.  Training is selected by `is_test` in 1 and
6, by requesting outputs besides Y in 7 and 9, and by `training_mode` from 14 on.  Up to 9 training also gives
saved_mean and saved_var, the statistics of the batch; up to 7 `spatial` 0 computes separate statistics for each
element of an instance, not for each channel.  15 allows separate types for the parameters.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Shape, TensorType, Type
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import batch_normalization_steps as steps
from sardonyx._src.ops.nn.normalizing import moments
from sardonyx._src.ops.support.arithmetic import round_to_type

op = Operator(
    "BatchNormalization", tolerance="rounding", computes_in_float32=True, linear_layer="batch_normalization"
)


@op.infer(1, 6, 7, 9, 14, 15)
def infer(inference: Inference) -> Result:
    shape = inference.shape(0)
    if shape is not None and not shape:
        inference.fail("the input must have rank >= 1 ([N, C, ...]); got a scalar")
    parameters = parameter_shape(inference, shape)
    for i in range(1, 5):
        parameter = inference.shape(i)
        if parameter is None or parameters is None or not inference.integer("spatial", 1):
            continue
        if len(parameter) != 1:
            inference.fail(f"input {i} must be a vector; got rank {len(parameter)}")
        if isinstance(parameter[0], int) and isinstance(parameters[0], int) and parameter[0] != parameters[0]:
            inference.fail(
                f"input {i} must have {parameters[0]} elements, one per channel; got {parameter[0]}"
            )
        inference.require_equal(parameters[0], parameter[0])
    data, mean = inference.tensor(0), inference.tensor(3)
    result: list[Type | None] = [data and TensorType(data.dtype, shape)]
    statistics = mean and TensorType(mean.dtype, parameters)
    return result + [statistics] * (inference.outputs - 1)


def parameter_shape(inference: Inference, shape: Shape | None) -> Shape | None:
    """The shape of scale, bias, mean and variance for data of `shape`: [C], or that of input 3 with `spatial` 0."""
    if not inference.integer("spatial", 1):
        return inference.shape(3)
    if shape is None:
        return inference.shape(1)
    return shape[1:2] or (1,)


op.convert((6, 1))(lambda adapter: adapter.same(consumed_inputs=steps.CONSUMED_INPUTS))
op.convert((6, 7))(steps.remove_is_test)
op.convert((7, 6))(steps.add_is_test)
op.convert((7, 9))(steps.remove_spatial)
op.convert((9, 14))(steps.add_training_mode)
op.convert((14, 9))(steps.remove_training_mode)
op.convert((15, 14))(steps.unify_parameter_types)


@dataclass(frozen=True, slots=True)
class Batch:
    """The data and parameters of one call, in the type of the computation."""

    x: Array  # [N, C, *spatial]
    axes: tuple[int, ...]  # axes of x over which statistics are computed
    scale: Array
    bias: Array
    mean: Array
    var: Array
    epsilon: float

    @classmethod
    def of(cls, x: Array, parameters: tuple[Array, ...], spatial: int, epsilon: float) -> Batch:
        """Raises EvaluationError unless parameters have one number per channel (or per element, if not `spatial`)."""
        if x.ndim == 0:
            raise EvaluationError("x must have rank >= 1 ([N, C, ...]); got a scalar")
        instances = x if x.ndim > 1 else x[:, None]  # one channel
        dtype = np.float64 if any(a.dtype == np.float64 for a in (x, *parameters)) else np.float32
        shape = (instances.shape[1], *(1,) * (instances.ndim - 2)) if spatial else instances.shape[1:]
        reshaped: list[Array] = []
        for name, values in zip(("scale", "B", "mean", "var"), parameters, strict=True):
            if values.size != np.prod(shape) or (values.ndim != 1 and values.shape != shape):
                expected = f"{list(shape)}, or a vector of that size" if not spatial else f"[{shape[0]}]"
                raise EvaluationError(f"{name} must have shape {expected}; got {list(values.shape)}")
            reshaped.append(values.astype(dtype, copy=False).reshape(shape))
        axes = tuple(i for i in range(instances.ndim) if i == 0 or (i > 1 and spatial))
        scale, bias, mean, var = reshaped
        return cls(instances.astype(dtype, copy=False), axes, scale, bias, mean, var, epsilon)

    def normalize(self, mean: Array, var: Array) -> Array:
        factor = self.scale / np.sqrt(var + self.x.dtype.type(self.epsilon))
        y = self.x - mean
        y *= factor
        y += self.bias
        return y

    def train(self, momentum: float) -> tuple[Array, Array, Array, Array, Array]:
        """Y, the running mean and variance, and the mean and variance of the batch."""
        mean, var = moments(self.x, self.axes)
        keep = self.x.dtype.type(momentum)
        running = (old * keep + new[0] * (1 - keep) for old, new in ((self.mean, mean), (self.var, var)))
        return self.normalize(mean, var), *running, mean[0], var[0]


@op.eval(14, 15)
def eval_15(
    x: Array,
    scale: Array,
    b: Array,
    input_mean: Array,
    input_var: Array,
    *,
    context: RunContext,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> tuple[Array, ...]:
    """x, Y: [N, C, *spatial] or [N], all others [C]."""
    return evaluate(
        x,
        (scale, b, input_mean, input_var),
        context,
        1,
        epsilon,
        momentum,
        training=bool(training_mode),
        outputs=3,
    )


@op.eval(7, 9)
def eval_9(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    context: RunContext,
    epsilon: float,
    momentum: float,
    spatial: int = 1,
) -> tuple[Array, ...]:
    """x, Y: [N, C, *spatial] or [N], all others [C], or [C, *spatial] with `spatial` 0."""
    training = any(context.requested_outputs[1:])
    return evaluate(
        x, (scale, b, mean, var), context, spatial, epsilon, momentum, training=training, outputs=5
    )


@op.eval(1, 6, ignores=("consumed_inputs",))
def eval_6(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    context: RunContext,
    epsilon: float,
    momentum: float,
    spatial: int,
    is_test: int,
) -> tuple[Array, ...]:
    """x, Y: [N, C, *spatial], all others [C], or with `spatial` 0 the elements of an instance."""
    return evaluate(
        x, (scale, b, mean, var), context, spatial, epsilon, momentum, training=not is_test, outputs=5
    )


def evaluate(
    x: Array,
    parameters: tuple[Array, ...],
    context: RunContext,
    spatial: int,
    epsilon: float,
    momentum: float,
    *,
    training: bool,
    outputs: int,
) -> tuple[Array, ...]:
    """Y, and the statistics when `training`; raises EvaluationError when they are requested in inference."""
    batch = Batch.of(x, parameters, spatial, epsilon)
    if not training:
        if any(context.requested_outputs[1:]):
            raise EvaluationError(
                "outputs besides Y must not be requested in inference: only training gives them"
            )
        return (round_to_type(batch.normalize(batch.mean, batch.var).reshape(x.shape), x.dtype),)
    y, *statistics = batch.train(momentum)
    shape = parameters[2].shape
    returned = (round_to_type(s.reshape(shape), parameters[2].dtype) for s in statistics[: outputs - 1])
    return round_to_type(y.reshape(x.shape), x.dtype), *returned
