"""Every field of every version equals the onnx package's own schema; documentation is not copied."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnx import AttributeProto, defs, helper

from sardonyx._src import schema
from sardonyx._src.schema import AttributeSchema, OpSchema, Parameter

WHEEL = sorted(
    defs.get_all_schemas_with_history(), key=lambda theirs: (theirs.domain, theirs.name, theirs.since_version)
)
NEWEST_OF_WHEEL = {domain: newest for domain, (_, newest) in defs.C.schema_version_map().items()}
DATA = Path(schema.__file__).parent / "data"


def pairs() -> Iterator[tuple[OpSchema, defs.OpSchema]]:
    for theirs in WHEEL:
        ours = schema.exact(theirs.domain, theirs.name, theirs.since_version)
        assert ours is not None, (theirs.domain, theirs.name, theirs.since_version)
        yield ours, theirs


def test_the_same_versions_exist() -> None:
    ours = [
        (domain, op, version)
        for domain in schema.domains()
        for op in schema.operators(domain)
        for version in schema.versions(domain, op)
        if version <= NEWEST_OF_WHEEL[domain]  # a release lacks what is under development
    ]
    assert ours == [(theirs.domain, theirs.name, theirs.since_version) for theirs in WHEEL]


def limit(most: int | None) -> int:
    return 2**31 - 1 if most is None else most


def test_heads_and_counts_are_the_same() -> None:
    for ours, theirs in pairs():
        assert ours.domain == theirs.domain
        assert ours.name == theirs.name
        assert ours.deprecated == theirs.deprecated
        assert ours.status.upper() == theirs.support_level.name
        assert (ours.min_inputs, limit(ours.max_inputs)) == (theirs.min_input, theirs.max_input)
        assert (ours.min_outputs, limit(ours.max_outputs)) == (theirs.min_output, theirs.max_output)


def test_functions_and_the_opsets_of_their_bodies_are_the_same() -> None:
    for ours, theirs in pairs():
        assert ours.is_function == (theirs.has_function or theirs.has_context_dependent_function)
        plain, in_context = theirs.function_opset_versions, theirs.context_dependent_function_opset_versions
        assert ours.bodies == tuple(sorted({*plain, *in_context}))


def assert_same_parameters(ours: tuple[Parameter, ...], theirs: list[defs.OpSchema.FormalParameter]) -> None:
    differentiable = {"Unknown": None, "Differentiable": True, "NonDifferentiable": False}
    assert len(ours) == len(theirs)
    for mine, formal in zip(ours, theirs, strict=True):
        assert mine.name == formal.name
        assert mine.type == formal.type_str
        assert mine.option == formal.option.name.lower()
        assert mine.homogeneous == formal.is_homogeneous
        assert mine.min_arity == formal.min_arity
        assert mine.differentiable is differentiable[formal.differentiation_category.name]


def test_parameters_are_the_same() -> None:
    for ours, theirs in pairs():
        assert_same_parameters(ours.inputs, theirs.inputs)
        assert_same_parameters(ours.outputs, theirs.outputs)


def as_in_wheel(text: str) -> str:
    """Schemas write `map(int64, float)` for `map(int64,tensor(float))` in the wheel's parsed types."""
    return re.sub(r"map\((\w+), (\w+)\)", r"map(\1,tensor(\2))", text)


def test_types_are_the_same() -> None:
    for ours, theirs in pairs():
        assert list(ours.type_constraints.items()) == [
            (t.type_param_str, tuple(t.allowed_type_strs)) for t in theirs.type_constraints
        ]
        for mine, formal in zip(ours.inputs + ours.outputs, [*theirs.inputs, *theirs.outputs], strict=True):
            assert {as_in_wheel(text) for text in ours.allowed_types(mine)} == set(formal.types)


def as_proto(attribute: AttributeSchema) -> AttributeProto:
    """The default as the wheel represents it: float32, bytes, lists."""
    proto = AttributeProto(name=attribute.name, type=AttributeProto.AttributeType.Value(attribute.type))
    field = {"FLOAT": "f", "INT": "i", "STRING": "s"}.get(attribute.type, attribute.type.lower())
    if isinstance(attribute.default, tuple):
        getattr(proto, field).extend(attribute.default)
    else:
        setattr(proto, field, attribute.default)
    return proto


def test_attributes_are_the_same() -> None:
    for ours, theirs in pairs():
        assert list(ours.attributes) == sorted(theirs.attributes)
        for name, attribute in ours.attributes.items():
            given = theirs.attributes[name]
            assert (attribute.name, attribute.type, attribute.required) == (
                given.name,
                given.type.name,
                given.required,
            )
            if given.default_value.type == AttributeProto.UNDEFINED:
                assert attribute.default is None
            else:
                assert as_proto(attribute) == given.default_value


def test_float_defaults_are_exact_as_float32_and_short_as_text() -> None:
    for ours, theirs in pairs():
        for attribute in ours.attributes.values():
            if isinstance(attribute.default, float):
                exact = np.float32(
                    helper.get_attribute_value(theirs.attributes[attribute.name].default_value)
                )
                assert np.float32(attribute.default) == exact
                assert len(repr(attribute.default)) <= len("-3.4028235e+38")


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for element in value:
            yield from strings(element)
    elif isinstance(value, dict):
        for key, element in value.items():
            yield key
            yield from strings(element)


@pytest.mark.parametrize("folder", sorted(DATA.iterdir()), ids=lambda path: path.name)
def test_the_data_holds_names_and_types_but_no_prose(folder: Path) -> None:
    name, type_string = r"[\w.-]{1,42}", r"(optional|seq|map)\([\w(), ]{1,40}\)"
    for file in folder.glob("*.json") if folder.is_dir() else [folder]:
        for text in strings(json.loads(file.read_text())):
            assert re.fullmatch(rf"{name}|tensor\(\w+\)|{type_string}", text), f"{file.name}: {text!r}"
