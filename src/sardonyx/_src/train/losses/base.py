"""The interface of loss functions: `Loss`, the context that it reads and the values that it returns."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from sardonyx._src.arguments import require_choice, require_number, type_name
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model, Shape, TensorType, Type, Value
from sardonyx._src.train.algorithm_builder import AlgorithmBuilder

Reduction = Literal["mean", "sum"]
REDUCTIONS = ("mean", "sum")
MAX_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Labels:
    """The integers that a target may have: 0 to `classes - 1`, and `ignored`.  classes: None if the number is not known."""

    classes: int | None
    ignored: int | None = None


@dataclass(slots=True)
class LossContext:
    """A prediction, and the builder of the nodes that compute its loss.

    b: the builder of the training step.
    prediction: float32 or float64; half precision is converted before.
    type: the type of the prediction.
    model: the training model, to which a loss may add functions.
    values: the values of the main graph by name, as they are in training.
    types: the types of these values in the main graph, by name.
    target_name: the name of the target, with which the names of all inputs for targets begin.
    labels: the integers that targets allow, by input name; filled by `target`.
    """

    b: AlgorithmBuilder
    prediction: Value
    type: TensorType
    model: Model
    values: Mapping[str, Value]
    types: Mapping[str, Type | None]
    target_name: str = "target"
    labels: dict[str, Labels] = field(default_factory=dict)

    @property
    def dtype(self) -> DataType:
        return self.type.dtype

    @property
    def shape(self) -> Shape:
        """The declared dims of the prediction; raises InputError if its rank is unknown."""
        if self.type.shape is None:
            raise InputError("the rank of the prediction must be known to compute its loss", name="output")
        return self.type.shape

    def axis(self, axis: int) -> int:
        """An axis of the prediction as a number >= 0; raises InputError for one that it does not have."""
        rank = len(self.shape)
        if not -rank <= axis < rank:
            raise InputError(f"axis must be in {-rank} to {rank - 1}; got {axis}", name="axis")
        return axis % rank

    def target(
        self, dtype: DataType, shape: Shape, *, suffix: str = "", labels: Labels | None = None
    ) -> Value:
        """Adds an input for a target to the training step; its name is `target_name` and the suffix.

        labels: the integers that the target may have, None for other targets.
        """
        name = f"{self.target_name}{suffix}"
        if name in self.b.fresh_names.taken:
            raise InputError(
                f"target must be a name that the model does not have; got {name!r}: choose another one, or remove an earlier step "
                "with sx.train.without_training",
                name="target",
            )
        self.b.fresh_names.taken.add(name)
        if labels is not None:
            self.labels[name] = labels
        return self.b.graph.add_input(Value(name, TensorType(dtype, shape)))

    def like_prediction(self) -> Value:
        """A target of the type and shape of the prediction."""
        return self.target(self.dtype, self.shape)

    def scalar(self, number: float) -> Value:
        """A number of the element type of the prediction."""
        return self.b.scalar(number, self.dtype)

    def vector(self, numbers: ArrayLike, name: str) -> Value:
        """Numbers of the element type of the prediction; raises InputError unless they are a vector."""
        try:
            array = np.asarray(numbers, np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a vector of numbers; got {type_name(numbers)}") from None
        if array.ndim != 1 or not np.isfinite(array).all():
            raise InputError(f"{name} must be a vector of finite numbers; got {numbers!r}", name=name)
        return self.b.constant(self.b.fresh_names.fresh(f"train_{name}"), array, self.dtype)

    def reduce(self, elements: Value, reduction: Reduction) -> Value:
        """The mean or the sum of all elements, as a scalar."""
        if reduction == "mean":
            return self.b.ReduceMean(elements, keepdims=0)
        return self.b.ReduceSum(elements, keepdims=0)


@dataclass(frozen=True, slots=True)
class LossValues:
    """The values that a loss function computes.

    loss: a scalar of the prediction's element type.
    accuracy: the share of correct predictions, a float32 scalar; None for losses other than those of classifications.
    """

    loss: Value
    accuracy: Value | None = None


class Loss(ABC):
    """A loss function: how far the prediction of a model is from its target.

    links: operators that the loss contains.  If the prediction is the result of one, the loss reads the input of that node
        instead, as cross entropy reads the logits before a Softmax.
    """

    links: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def build(self, context: LossContext) -> LossValues:
        """Adds inputs for the targets and the nodes of the loss."""


def check_reduction(reduction: str) -> None:
    require_choice("reduction", reduction, REDUCTIONS)


INT64_RANGE = (-(1 << 63), (1 << 63) - 1)  # the range of labels


def check_weights(name: str, weights: object) -> None:
    """Raises TypeError unless the weights of classes are a sequence or an array of one axis, or None."""
    if weights is None:
        return
    is_sequence = isinstance(weights, Sequence) and not isinstance(weights, str | bytes)
    if not is_sequence and not (isinstance(weights, np.ndarray) and weights.ndim == 1):
        raise TypeError(f"{name} must be a list of numbers or None; got {type_name(weights)}")


def check_number(name: str, number: float, low: float, high: float, *, open_low: bool = False) -> None:
    """Raises TypeError unless a parameter is a real number, and InputError unless it is in a range, and finite in float32."""
    require_number(name, number)
    limit = min(high, MAX_FLOAT32)
    if low <= number <= limit and not (open_low and number == low):
        return
    bound = f"> {low:g}" if open_low else f">= {low:g}"
    also = "" if high == math.inf and number != math.inf else f" and <= {limit:g}"
    raise InputError(f"{name} must be a number {bound}{also}; got {number!r}", name=name)
