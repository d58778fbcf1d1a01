"""BatchNormalization: each channel brought to mean 0 and variance 1 over the whole batch, then scaled and shifted.

Spec: ai.onnx BatchNormalization-1, -6, -7, -9, -14, -15.  What tells training from inference differs: `is_test` in 1
and 6, in 7 and 9 whether outputs beside Y are asked for, `training_mode` from 14 on.  Up to 9 training also gives
saved_mean and saved_var, the batch's own; up to 7 `spatial` 0 takes statistics for each element of an instance.
15 lets the parameters have types of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType, Type
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import narrow
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.nn import batch_normalization_steps as steps
from sardonyx._src.ops.nn.normalizing import moments

op = Operator("BatchNormalization", tolerance="rounding")


@op.infer(1, 6, 7, 9, 14, 15)
def infer(t: Inference) -> Result:
    shape = t.shape(0)
    if shape is not None and not shape:
        t.fail("the input is a scalar, [N, C, ...] is wanted")
    parameters = parameter_shape(t, shape)
    for i in range(1, 5):
        given = t.shape(i)
        if given is None or parameters is None or not t.integer("spatial", 1):
            continue
        if len(given) != 1:
            t.fail(f"input {i} has rank {len(given)}, a vector is wanted")
        if isinstance(given[0], int) and isinstance(parameters[0], int) and given[0] != parameters[0]:
            t.fail(f"input {i} has {given[0]} elements, the data have {parameters[0]} channels")
    found, mean = t.tensor(0), t.tensor(3)
    result: list[Type | None] = [found and TensorType(found.dtype, shape)]
    statistics = mean and TensorType(mean.dtype, parameters)
    return result + [statistics] * (t.outputs - 1)


def parameter_shape(t: Inference, shape: Shape | None) -> Shape | None:
    if not t.integer("spatial", 1):
        return t.shape(3)
    if shape is None:
        return t.shape(1)
    return shape[1:2] or (1,)


op.convert((6, 1))(lambda c: c.same(consumed_inputs=steps.CONSUMED))
op.convert((6, 7))(steps.by_outputs)
op.convert((7, 6))(steps.by_is_test)
op.convert((7, 9))(steps.by_channel)
op.convert((9, 14))(steps.by_mode)
op.convert((14, 9))(steps.by_outputs_again)
op.convert((15, 14))(steps.in_one_type)


@dataclass(frozen=True, slots=True)
class Batch:
    """The data and parameters of one call, in the type that it is computed in."""

    x: Array  # [N, C, *spatial]
    axes: tuple[int, ...]  # of x that one statistic covers
    scale: Array
    bias: Array
    mean: Array
    var: Array
    epsilon: float

    @classmethod
    def of(cls, x: Array, parameters: tuple[Array, ...], spatial: int, epsilon: float) -> Batch:
        """Raises EvaluationError for parameters that are not one for each channel (or element, if not `spatial`)."""
        if x.ndim == 0:
            raise EvaluationError("x is a scalar, [N, C, ...] is wanted")
        instances = x if x.ndim > 1 else x[:, None]  # one channel
        dtype = np.float64 if any(a.dtype == np.float64 for a in (x, *parameters)) else np.float32
        shape = (instances.shape[1], *(1,) * (instances.ndim - 2)) if spatial else instances.shape[1:]
        spread: list[Array] = []
        for name, values in zip(("scale", "B", "mean", "var"), parameters, strict=True):
            if values.size != np.prod(shape) or (values.ndim != 1 and values.shape != shape):
                wanted = f"{list(shape)}, or as many in a vector," if not spatial else f"[{shape[0]}]"
                raise EvaluationError(f"{name} has shape {list(values.shape)}, {wanted} is wanted")
            spread.append(values.astype(dtype, copy=False).reshape(shape))
        axes = tuple(i for i in range(instances.ndim) if i == 0 or (i > 1 and spatial))
        scale, bias, mean, var = spread
        return cls(instances.astype(dtype, copy=False), axes, scale, bias, mean, var, epsilon)

    def normalized(self, mean: Array, var: Array) -> Array:
        factor = self.scale / np.sqrt(var + self.x.dtype.type(self.epsilon))
        y = self.x - mean
        y *= factor
        y += self.bias
        return y

    def trained(self, momentum: float) -> tuple[Array, Array, Array, Array, Array]:
        """Y, running mean, running variance, and the batch's own mean and variance."""
        mean, var = moments(self.x, self.axes)
        keep = self.x.dtype.type(momentum)
        running = (old * keep + new[0] * (1 - keep) for old, new in ((self.mean, mean), (self.var, var)))
        return self.normalized(mean, var), *running, mean[0], var[0]


@op.eval(14, 15)
def eval_15(
    x: Array,
    scale: Array,
    b: Array,
    input_mean: Array,
    input_var: Array,
    *,
    call: Call,
    epsilon: float,
    momentum: float,
    training_mode: int,
) -> tuple[Array, ...]:
    """x, Y: [N, C, *spatial] or [N], all others [C]."""
    return evaluated(
        x,
        (scale, b, input_mean, input_var),
        call,
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
    call: Call,
    epsilon: float,
    momentum: float,
    spatial: int = 1,
) -> tuple[Array, ...]:
    """x, Y: [N, C, *spatial] or [N], all others [C], or [C, *spatial] with `spatial` 0."""
    training = any(call.wanted[1:])
    return evaluated(x, (scale, b, mean, var), call, spatial, epsilon, momentum, training=training, outputs=5)


@op.eval(1, 6, ignores=("consumed_inputs",))
def eval_6(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    call: Call,
    epsilon: float,
    momentum: float,
    spatial: int,
    is_test: int,
) -> tuple[Array, ...]:
    """x, Y: [N, C, *spatial], all others [C], or as many as an instance has elements with `spatial` 0."""
    return evaluated(
        x, (scale, b, mean, var), call, spatial, epsilon, momentum, training=not is_test, outputs=5
    )


def evaluated(
    x: Array,
    parameters: tuple[Array, ...],
    call: Call,
    spatial: int,
    epsilon: float,
    momentum: float,
    *,
    training: bool,
    outputs: int,
) -> tuple[Array, ...]:
    """Y, and the statistics when `training`; raises EvaluationError where they are asked for in inference."""
    batch = Batch.of(x, parameters, spatial, epsilon)
    if not training:
        if any(call.wanted[1:]):
            raise EvaluationError("outputs beside Y are asked for, which only training gives")
        return (narrow(batch.normalized(batch.mean, batch.var).reshape(x.shape), x.dtype),)
    y, *statistics = batch.trained(momentum)
    shape = parameters[2].shape
    kept = (narrow(s.reshape(shape), parameters[2].dtype) for s in statistics[: outputs - 1])
    return narrow(y.reshape(x.shape), x.dtype), *kept
