"""Selection by the caller's names and patterns: the prediction, the trained initializers, and their groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from sardonyx._src.arguments import texts_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model, Tensor, TensorType, Type, Value
from sardonyx._src.suggestions import suggest
from sardonyx._src.tools.lookup import find_value
from sardonyx._src.tools.reachability import BackwardSlice
from sardonyx._src.train.losses.base import Loss, check_number
from sardonyx._src.train.prepare.parameters import ParameterFinder

Patterns = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters that an optimizer treats differently.

    names: names of initializers, or patterns with `*` and `?` as in file names.
    rate_factor: a factor of the learning rate.
    weight_decay: replaces the weight decay of the optimizer; None keeps it.
    A parameter belongs to the first group with a matching pattern.
    """

    names: Patterns
    rate_factor: float = 1.0
    weight_decay: float | None = None

    def __post_init__(self) -> None:
        patterns_of(self.names, "groups")
        check_number("rate_factor", self.rate_factor, 0, float("inf"))
        if self.weight_decay is not None:
            check_number("weight_decay", self.weight_decay, 0, float("inf"))


def find_prediction(model: Model, types: Mapping[str, Type | None], output: str | None) -> Value:
    """The value of the main graph that the loss compares with its target.

    output: its name; None for the only output that is a floating-point tensor, InputError if there are none or several.
    """
    if output is not None:
        value = find_value(model.graph, output)
        if not is_float(types.get(output)):
            raise InputError(
                f"output must be a floating-point tensor; got {output!r} of type {types.get(output)}",
                name="output",
            )
        return value
    candidates = [v for v in model.graph.outputs if is_float(types.get(v.name))]
    if len(candidates) != 1:
        names = ", ".join(repr(v.name) for v in candidates) or "none"
        raise InputError(
            f"output must name the value that the loss is computed from; the floating-point outputs are {names}",
            name="output",
        )
    return candidates[0]


def unwrap_link(prediction: Value, loss: Loss) -> Value:
    """The value that the loss reads: the prediction, or the input of its node if the loss contains the operator of that node.

    Cross entropy contains a Softmax, for example (`Loss.links`).
    """
    node = prediction.producer
    if node is None or node.domain or node.op_type not in loss.links or node.inputs[0] is None:
        return prediction
    return node.inputs[0]


def is_float(type: Type | None) -> bool:
    return isinstance(type, TensorType) and type.dtype.is_float


def select_trainable(
    model: Model, prediction: Value, trainable: Patterns | None, frozen: Patterns
) -> list[Value]:
    """The initializers to train, in the model's order.

    trainable: names and patterns; by default every weight that the prediction depends on.  A pattern with a wildcard matches
        only weights, as `ParameterFinder` recognizes them; a name matches any float initializer.
    frozen: names and patterns of initializers to leave out.
    Raises InputError for a pattern that matches nothing, and if nothing remains.
    """
    needed = BackwardSlice(())
    needed.add([prediction])
    floats = {
        name: value
        for name, value in model.graph.initializers.items()
        if isinstance(value.initializer, Tensor) and value.initializer.dtype.is_float
    }
    finder = ParameterFinder(model)
    if trainable is None:
        chosen = {n for n, value in floats.items() if value in needed.values and finder.is_parameter(value)}
    else:
        chosen = match_weights(patterns_of(trainable, "trainable"), floats, finder)
    chosen -= match_names(patterns_of(frozen, "frozen"), floats, "frozen")
    if not chosen:
        raise InputError(
            "trainable must name floating-point initializers of the main graph that the prediction depends on; there are none",
            name="trainable",
        )
    unreached = [name for name in floats if name in chosen and floats[name] not in needed.values]
    if unreached:
        raise InputError(
            f"trainable must name values that the prediction depends on; got {unreached[0]!r}",
            name="trainable",
        )
    return [value for name, value in floats.items() if name in chosen]


def match_weights(patterns: Sequence[str], floats: Mapping[str, Value], finder: ParameterFinder) -> set[str]:
    """The names of the initializers that patterns match; raises InputError for a pattern that matches none.

    A pattern with a wildcard matches only weights, a name any float initializer.
    """
    result: set[str] = set()
    for pattern in patterns:
        matches = match_names([pattern], floats, "trainable")
        weights = {name for name in matches if name == pattern or finder.is_parameter(floats[name])}
        if not weights:
            what = f"trainable: {pattern!r} matches constants only, such as {min(matches)!r}"
            raise InputError(f"{what}; give the whole name of one to train it", name="trainable")
        result |= weights
    return result


def patterns_of(patterns: object, name: str) -> list[str]:
    """Patterns as a list; raises TypeError unless they are strings."""
    return [patterns] if isinstance(patterns, str) else list(texts_of(name, patterns))


def match_names(patterns: Sequence[str], names: Mapping[str, object], what: str) -> set[str]:
    """The names that match a pattern; raises InputError for a pattern that matches none.  what: the argument, for messages."""
    result: set[str] = set()
    for pattern in patterns:
        matches = {name for name in names if fnmatchcase(name, pattern)}
        if not matches:
            hint = suggest(pattern, sorted(names), "floating-point initializers")
            raise InputError(f"{what}: no floating-point initializer matches {pattern!r}{hint}", name=what)
        result |= matches
    return result


def group_parameters(
    values: Sequence[Value], groups: Sequence[ParameterGroup], weight_decay: float
) -> list[tuple[ParameterGroup, list[Value]]]:
    """The parameters by group; parameters without a group come last, with the weight decay of the optimizer."""
    names = {value.name: value for value in values}
    result: list[tuple[ParameterGroup, list[Value]]] = []
    for group in groups:
        matches = match_names(patterns_of(group.names, "groups"), {v.name: v for v in values}, "groups")
        members = [names.pop(value.name) for value in values if value.name in matches & names.keys()]
        result.append((group, members))
    rest = [value for value in values if value.name in names]
    result.append((ParameterGroup("*", weight_decay=weight_decay), rest))
    return [(group, members) for group, members in result if members]
