"""Building blocks for the text of bodies of com.microsoft."""

from __future__ import annotations

from sardonyx._src.ops.inference import Inference

DOMAIN = "com.microsoft"


def results_text(inference: Inference, *names: str) -> str:
    """The outputs of a body: as many of the names as the node has outputs, in parentheses."""
    return f"({', '.join(names[: inference.outputs])})"


def string_attribute(inference: Inference, name: str) -> str:
    """The value of a string attribute; "" if it is omitted and has no default."""
    value = inference.attributes.get(name, "")
    assert isinstance(value, str), f"{inference.op_type}.{name} is no string"
    return value


def number_attribute(inference: Inference, name: str, default: float) -> float:
    """The value of a numeric attribute; `default` if it is omitted and has no default in the signature."""
    value = inference.attributes.get(name, default)
    assert isinstance(value, int | float), f"{inference.op_type}.{name} is no number"
    return value
