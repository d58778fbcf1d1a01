"""The signature of the operator that a call names, and the number of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sardonyx._src.errors import InputError
from sardonyx._src.ir import Value
from sardonyx._src.ops.registry import signature
from sardonyx._src.schema import OpSchema, domains, operators, vendor_domains, versions
from sardonyx._src.suggestions import did_you_mean


def signature_of(domain: str, op_type: str, imports: Mapping[str, int]) -> OpSchema | None:
    """The signature of an operator under these imports; None for a domain without known signatures.

    Raises InputError, which suggests a cure, for a name that a known domain does not have in this version.
    """
    version = imports[domain]
    schema = signature(domain, op_type, version)
    if schema is None and domain not in (*domains(), *vendor_domains()):
        return None
    label = f"{domain or 'ai.onnx'} {version}"
    if schema is None:
        known = versions(domain, op_type)
        hint = f"; it begins with version {known[0]}" if known else did_you_mean(op_type, operators(domain))
        raise InputError(f"{label} has no operator {op_type!r}{hint}", name="op_type")
    if schema.deprecated:
        raise InputError(
            f"{op_type} is deprecated in {label}; use what the specification names instead", name="op_type"
        )
    return schema


def check_inputs(op: str, schema: OpSchema, inputs: Sequence[Value | object | None]) -> None:
    """Raises InputError for too few or too many inputs and for a required one that is None."""
    least, most = schema.min_inputs, schema.max_inputs
    if len(inputs) < least or (most is not None and len(inputs) > most):
        raise InputError(
            f"{op} must have {count_text(least, most, 'input')}; got {len(inputs)}", name="inputs"
        )
    for position, value in enumerate(inputs):
        parameter = schema.input(position)
        if value is None and parameter is not None and parameter.option == "single":
            raise InputError(
                f"input {position} {parameter.name!r} of {op} is required; got None", name=parameter.name
            )


def check_output_count(op: str, schema: OpSchema, count: int) -> None:
    least, most = schema.min_outputs, schema.max_outputs
    if count < least or (most is not None and count > most):
        raise InputError(f"{op} must have {count_text(least, most, 'output')}; got {count}", name="outputs")


def count_text(least: int, most: int | None, noun: str) -> str:
    """ "2 inputs", "1 to 3 inputs" or "at least 1 input"."""
    if most is None:
        return f"at least {least} {noun}{'s' * (least != 1)}"
    if least == most:
        return f"{least} {noun}{'s' * (least != 1)}"
    return f"{least} to {most} {noun}s"
