"""Withdrawn experiments of the first releases: known to lookups, not listed as operators."""

from __future__ import annotations

import pytest

from sardonyx._src import schema
from sardonyx._src.schema import AttributeSchema, OpSchema, Parameter

FLOATS = ("tensor(float16)", "tensor(float)", "tensor(double)")
NAMES = [
    "Affine",
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
    "MeanVarianceNormalization",
    "ParametricSoftplus",
    "Scale",
    "ScaledTanh",
    "ThresholdedRelu",
]


def lookup_schema(op_type: str, version: int) -> OpSchema:
    schema_found = schema.lookup("", op_type, version)
    assert schema_found is not None
    return schema_found


def test_there_are_twelve_all_version_1_of_the_default_domain() -> None:
    assert [s.name for s in schema.withdrawn()] == NAMES
    assert {(s.domain, s.since_version, s.status) for s in schema.withdrawn()} == {("", 1, "withdrawn")}


@pytest.mark.parametrize("name", NAMES)
def test_they_are_found_but_not_listed(name: str) -> None:
    assert lookup_schema(name, 1).status == "withdrawn"
    assert lookup_schema(name, 1) is schema.exact("", name, 1)
    assert 1 not in schema.versions("", name)
    assert (name in schema.operators("")) == (name in ("MeanVarianceNormalization", "ThresholdedRelu"))


def test_they_hold_until_the_next_version_of_their_name() -> None:
    assert lookup_schema("MeanVarianceNormalization", 8).status == "withdrawn"
    assert (
        lookup_schema("MeanVarianceNormalization", 9).since_version,
        lookup_schema("MeanVarianceNormalization", 9).status,
    ) == (
        9,
        "common",
    )
    assert lookup_schema("ThresholdedRelu", 9).since_version == 1
    assert lookup_schema("ThresholdedRelu", 10).since_version == 10
    assert lookup_schema("Affine", 28).since_version == 1
    assert schema.lookup("", "Affine", 30) is None


def test_experimental_operators_that_still_exist_are_not_withdrawn() -> None:
    assert lookup_schema("Upsample", 1).status == "experimental"
    assert lookup_schema("Upsample", 7).status == "common"


def test_signatures() -> None:
    assert lookup_schema("ThresholdedRelu", 1) == OpSchema(
        "",
        "ThresholdedRelu",
        1,
        status="withdrawn",
        inputs=(Parameter("X", "T"),),
        outputs=(Parameter("Y", "T"),),
        attributes={"alpha": AttributeSchema("alpha", "FLOAT", default=1.0)},
        type_constraints={"T": FLOATS},
        min_inputs=1,
        max_inputs=1,
        min_outputs=1,
        max_outputs=1,
    )
    dynamic_slice = lookup_schema("DynamicSlice", 9)
    assert [(p.name, p.option) for p in dynamic_slice.inputs] == [
        ("data", "single"),
        ("starts", "single"),
        ("ends", "single"),
        ("axes", "optional"),
    ]
    assert (dynamic_slice.min_inputs, dynamic_slice.max_inputs) == (3, 4)
    assert dynamic_slice.allowed_types(dynamic_slice.inputs[1]) == ("tensor(int32)", "tensor(int64)")


@pytest.mark.parametrize(
    ("name", "defaults"),
    [
        ("Affine", {"alpha": 1.0, "beta": 0.0}),
        (
            "ConstantFill",
            {"dtype": 1, "extra_shape": None, "input_as_shape": None, "shape": None, "value": 0.0},
        ),
        ("Crop", {"border": None, "scale": None}),
        ("GRUUnit", {"drop_states": None}),
        ("GivenTensorFill", {"extra_shape": None, "input_as_shape": None, "shape": None, "values": None}),
        ("ImageScaler", {"bias": None, "scale": 1.0}),
        ("MeanVarianceNormalization", {"across_channels": 0, "normalize_variance": 1}),
        ("ParametricSoftplus", {"alpha": None, "beta": None}),
        ("Scale", {"scale": 1.0}),
        ("ScaledTanh", {"alpha": None, "beta": None}),
    ],
)
def test_attributes(name: str, defaults: dict[str, float | None]) -> None:
    attributes = lookup_schema(name, 1).attributes
    assert {a.name: a.default for a in attributes.values()} == defaults
    assert not any(a.required for a in attributes.values())


@pytest.mark.parametrize("schema_", schema.withdrawn(), ids=lambda s: s.name)
def test_counts_follow_from_the_parameters(schema_: OpSchema) -> None:
    required = [p for p in schema_.inputs if p.option == "single"]
    assert (schema_.min_inputs, schema_.max_inputs) == (len(required), len(schema_.inputs))
    assert (schema_.min_outputs, schema_.max_outputs) == (1, len(schema_.outputs)) == (1, 1)
    for parameter in (*schema_.inputs, *schema_.outputs):
        assert parameter.type in schema_.type_constraints
