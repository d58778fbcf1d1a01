"""Traits declared by operators, and that other packages query traits instead of lists of names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

import pytest

from models import parse_model, parse_record
from rewrite.rewriting import assert_becomes
from sardonyx._src.check.analysis.reads import control_bodies
from sardonyx._src.check.driver.checking import check
from sardonyx._src.check.records.element_type_attributes import allowed_types
from sardonyx._src.compile.prepare.legacy_opsets import broadcasts_are_equivalent
from sardonyx._src.compile.prepare.precision_classes import PropagationClasses, is_exact_in_half
from sardonyx._src.infer.incremental import IncrementalInference
from sardonyx._src.ir import Model, Node
from sardonyx._src.ops import registry
from sardonyx._src.ops.api import OPERATORS, Operator
from sardonyx._src.ops.registry import find, signature
from sardonyx._src.ops.support.shapes import same_tensor
from sardonyx._src.ops.traits import (
    EnumValues,
    LegacyBroadcast,
    OperatorTraits,
    PermutationRule,
    SizeRule,
    enum_values,
    enum_values_by_version,
)
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.support.linear_layers import linear_layer_of
from sardonyx._src.rewrite.support.reshapes import is_reshape
from sardonyx._src.rewrite.support.transposes import PUSH_RULES, push_transpose
from sardonyx._src.schema import OpSchema, Parameter, lookup, versions
from sardonyx._src.tools.set_dims.candidates import candidate_repairs
from sardonyx._src.tools.set_dims.probe import Probe
from sardonyx._src.tools.set_dims.requests import AxisChange
from sardonyx._src.tools.set_dims.rules import REPAIR_RULES, rule_of

Define = Callable[..., Operator]
FLOATS = ("tensor(float16)", "tensor(float)")


def operator(name: str, domain: str = "") -> Operator:
    op = find(domain, name)
    assert op is not None, f"there is no operator {name}"
    return op


@pytest.fixture
def define(monkeypatch: pytest.MonkeyPatch) -> Define:
    """Registers an operator of one or more float tensors for the duration of a test."""

    def define_operator(name: str, domain: str, **traits: object) -> Operator:
        monkeypatch.setitem(OPERATORS, (domain, name), None)
        del OPERATORS[domain, name]
        schema = OpSchema(
            domain,
            name,
            1,
            inputs=(Parameter("x", "T", "variadic"),),
            outputs=(Parameter("y", "T"),),
            type_constraints={"T": FLOATS},
            min_inputs=1,
            min_outputs=1,
            max_outputs=1,
        )
        op = Operator(name, domain, schema=(schema,), **traits)  # type: ignore[arg-type]  # traits by name
        op.infer(1)(same_tensor)
        return op

    return define_operator


# --- declarations --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "trait", "expected"),
    [
        ("Relu", "exact_in_half", True),
        ("ReduceMax", "exact_in_half", True),
        ("ReduceSum", "exact_in_half", False),
        ("Exp", "exact_in_half", False),
        ("Transpose", "moves_data", True),
        ("ScatterND", "moves_data", "without_reduction"),
        ("Resize", "moves_data", False),
        ("CastLike", "casts", True),
        ("BitCast", "casts", False),
        ("BitCast", "reads_bits", True),
        ("Size", "reads_shape", True),
        ("Conv", "computes_in_float32", True),
        ("MeanVarianceNormalization", "computes_in_float32", False),
        ("ReduceL2", "reduction", True),
        ("ArgMax", "reduction", False),
        ("Hardmax", "under_permutation", "softmax"),
        ("Split", "under_permutation", "along_axis"),
        ("Reshape", "under_permutation", None),
        ("Unsqueeze", "keeps_order", "always"),
        ("Gather", "keeps_order", "gather"),
        ("ConvTranspose", "linear_layer", "conv_transpose"),
        ("MatMul", "matrix_product", "matmul"),
        ("Gemm", "matrix_product", "gemm"),
        ("Div", "legacy_broadcast", LegacyBroadcast("one_way", 6)),
        ("Mean", "legacy_broadcast", LegacyBroadcast("none", 7)),
        ("PRelu", "legacy_broadcast", LegacyBroadcast("slope", 6)),
        ("Gemm", "legacy_broadcast", LegacyBroadcast("addend", 6)),
        ("GRU", "size_rule", "initial_states"),
        ("Scan", "size_rule", "scan_states"),
        ("Slice", "sizes_input", 2),
        ("Expand", "sizes_input", 1),
        ("LayerNormalization", "stash_type_constraint", "U"),
        ("RMSNormalization", "stash_type_constraint", None),
    ],
)
def test_declared_traits(name: str, trait: str, expected: object) -> None:
    assert getattr(operator(name), trait) == expected


@pytest.mark.parametrize(
    ("name", "version", "attribute", "values"),
    [
        ("Conv", 22, "auto_pad", "NOTSET SAME_LOWER SAME_UPPER VALID"),
        ("Pad", 18, "mode", "constant edge reflect"),
        ("Pad", 19, "mode", "constant edge reflect wrap"),
        ("ScatterND", 16, "reduction", "add mul none"),
        ("ScatterND", 18, "reduction", "add max min mul none"),
        ("GridSample", 16, "mode", "bicubic bilinear nearest"),
        ("GridSample", 22, "mode", "cubic linear nearest"),
        ("Resize", 10, "mode", "linear nearest"),
        ("Resize", 18, "coordinate_transformation_mode", "align_corners asymmetric half_pixel pytorch_half_pixel tf_crop_and_resize"),
        ("LSTM", 14, "direction", "bidirectional forward reverse"),
        ("Cast", 24, "round_mode", "down nearest up"),
    ],
)  # fmt: skip
def test_values_of_string_attributes(name: str, version: int, attribute: str, values: str) -> None:
    allowed = operator(name).enum_attributes[attribute].in_version(version)
    assert allowed is not None
    assert " ".join(sorted(allowed)) == values


def test_values_by_version_apply_from_their_version_on() -> None:
    values = enum_values_by_version({16: ("a", "b"), 18: ("c",)})
    assert values.in_version(15) is None
    assert values.in_version(17) == frozenset(("a", "b"))
    assert values.in_version(20) == frozenset(("c",))
    assert values.is_allowed("anything", 15)
    assert not values.is_allowed("a", 18)


def test_case_is_ignored_only_on_request() -> None:
    assert not enum_values("Relu").is_allowed("relu", 1)
    assert enum_values("Relu", ignores_case=True).is_allowed("relu", 1)


def listed_attributes() -> Iterator[tuple[Operator, str, EnumValues]]:
    for op in registry.operators():
        for name, values in op.enum_attributes.items():
            yield op, name, values


def test_every_listed_attribute_is_a_string_whose_default_is_allowed() -> None:
    for op, name, values in listed_attributes():
        declared = [
            (version, schema.attributes[name])
            for version in versions(op.domain, op.name)
            if (schema := lookup(op.domain, op.name, version)) is not None and name in schema.attributes
        ]
        assert declared, f"{op.name} has no attribute {name}"
        for version, attribute in declared:
            assert attribute.type in ("STRING", "STRINGS"), f"{op.name}.{name} is {attribute.type}"
            default = attribute.default
            if isinstance(default, bytes) and (op.name, version) != ("GRU", 1):  # whose default is misspelled
                assert values.is_allowed(default.decode(), version), (
                    f"{op.name}-{version}.{name}: {default!r}"
                )


def test_reductions_have_axes_and_keepdims() -> None:
    for op in registry.operators():
        for version in versions(op.domain, op.name) if op.reduction else ():
            schema = lookup(op.domain, op.name, version)
            assert schema is not None
            assert "keepdims" in schema.attributes
            assert "axes" in {*schema.attributes, *(parameter.name for parameter in schema.inputs)}


def test_data_movement_rounds_nothing() -> None:
    for op in registry.operators():
        assert not (op.moves_data is True and (op.computes_in_float32 or op.casts)), op.name
        assert not (op.elementwise and op.computes_in_float32), f"{op.name}: elementwise operators always do"


def test_a_rule_is_declared_only_where_none_is_implied() -> None:
    for op in registry.operators():
        assert not (op.under_permutation and (op.elementwise or op.reduction)), op.name


@pytest.mark.parametrize(
    ("table", "kinds"),
    [(PUSH_RULES, PermutationRule), (REPAIR_RULES, SizeRule)],
    ids=["under_permutation", "size_rule"],
)
def test_every_kind_has_a_rule_and_an_operator(table: dict[str, object], kinds: object) -> None:
    assert set(table) == set(get_args(kinds))
    declared = {kind for op in registry.operators() for kind in (op.under_permutation, op.size_rule)}
    assert set(table) <= declared


def test_traits_are_documented() -> None:
    documented = OperatorTraits.__doc__ or ""
    for trait in OperatorTraits.__dataclass_fields__:
        assert f"\n    {trait}:" in documented, trait


# --- readers -------------------------------------------------------------------------------------


def first_node(model: Model) -> Node:
    return next(iter(model.graph.nodes))


@pytest.mark.parametrize(
    ("traits", "expected"),
    [
        ({}, "stays"),
        ({"elementwise": True}, "computes"),
        ({"computes_in_float32": True}, "computes"),
        ({"moves_data": True}, "stays"),  # nothing before it is promoted
        ({"reads_shape": True}, "reads_shape"),
        ({"casts": True}, "casts"),
    ],
    ids=str,
)
def test_precision_classes_read_traits(define: Define, traits: dict[str, object], expected: str) -> None:
    define("Toy", "", **traits)
    model = parse_model("g (float16[2] x) => (float16[2] y) { y = Toy(x) }")
    facts = IncrementalInference(model)
    facts.walk()
    classes = PropagationClasses(model.graph, model, facts, lambda domain, name, version: True)
    assert classes.by_node[first_node(model)] == expected


def test_rounding_is_left_out_for_exact_operators(define: Define) -> None:
    define("Toy", "", exact_in_half=True)
    define("Other", "")
    model = parse_model("g (float16[2] x) => (float16[2] y) { z = Toy(x)  y = Other(z) }")
    assert [is_exact_in_half(node) for node in model.graph.nodes] == [True, False]


def test_reshapes_are_recognized_by_trait(define: Define) -> None:
    define("Toy", "toys", keeps_order="always")
    define("Opaque", "toys")
    text = "g (float[2] x) => (float[] a, float[] b) { a = toys.Toy(x)  b = toys.Opaque(x) }"
    model = parse_model(text, more='"toys": 1')
    edit = Edit(model)
    edit.supported_versions = {("toys", name): frozenset({1}) for name in ("Toy", "Opaque")}
    assert [is_reshape(node, edit) for node in model.graph.nodes] == [True, False]


def test_transposes_are_pushed_through_a_new_operator(define: Define) -> None:
    define("Toy", "toys", under_permutation="per_tensor_quantization")
    define("Opaque", "toys")
    text = "g (float[2,3] x) => (float[] a, float[] b) { a = toys.Toy(x)  b = toys.Opaque(x) }"
    model = parse_model(text, more='"toys": 1')
    edit = Edit(model)
    edit.supported_versions = {("toys", name): frozenset({1}) for name in ("Toy", "Opaque")}
    toy, opaque = model.graph.nodes
    plan = push_transpose(toy, (1, 0), edit)
    assert plan is not None
    assert (plan.slots, plan.perm) == ([0], (1, 0))
    assert push_transpose(opaque, (1, 0), edit) is None


def test_a_new_elementwise_operator_moves_transposes(define: Define) -> None:
    define("Toy", "toys", elementwise=True)
    assert_becomes(
        "g (float[2,3] x) => (float[] y) { a = Transpose(x)  b = toys.Toy(a)  y = Transpose(b) }",
        "g (float[2,3] x) => (float[] y) { y = toys.Toy(x) }",
        "move-transposes",
        more='"toys": 1',
        proof=False,
    )


@pytest.mark.parametrize(("size", "expected"), [("3", True), ("1", False)])
def test_legacy_broadcasting_is_checked(define: Define, size: str, expected: bool) -> None:
    define("Toy", "", legacy_broadcast=LegacyBroadcast("none", last_opset=6))
    text = f"g (float[3] x, float[{size}] z) => (float[] y) {{ y = Toy(x, z) }}"
    assert broadcasts_are_equivalent(parse_model(text, opset=6)) is expected
    assert broadcasts_are_equivalent(parse_model(text, opset=7))


def test_the_checker_compares_attributes_with_the_trait(monkeypatch: pytest.MonkeyPatch) -> None:
    record = parse_record('g (float[2] x) => (float[2] y) { y = Gelu<approximate = "fast">(x) }')
    assert "SX221" in str(check(record))
    monkeypatch.setattr(operator("Gelu"), "enum_attributes", {"approximate": enum_values("fast")})
    assert "SX221" not in str(check(record))


def test_bodies_get_the_declared_number_of_inputs(define: Define) -> None:
    define("Toy", "toys", body_inputs=lambda inputs: inputs + 1)
    text = """g (float[2] x) => (float[2] y) {
      y = toys.Toy<body = b (float[2] v) => (float[2] w) { w = Abs(v) }>(x)
    }"""
    graph = parse_record(text, more='"toys": 1').graph
    assert graph is not None
    ((path, body, count),) = control_bodies(graph.node[0])
    assert (path, body.name, count) == ("attribute[0].g", "b", 2)


def test_constants_that_hold_sizes_are_found_by_trait(define: Define) -> None:
    define("Toy", "toys", size_rule="operands")
    define("Opaque", "toys")
    text = "g (float[2] x) => (float[] a, float[] b) { a = toys.Toy(x)  b = toys.Opaque(x) }"
    toy, opaque = parse_model(text, more='"toys": 1').graph.nodes
    assert rule_of(toy) is REPAIR_RULES["operands"]
    assert rule_of(opaque) is None


def test_sizes_are_tried_in_the_declared_input(define: Define) -> None:
    define("Toy", "toys", sizes_input=1)
    text = "g (float[2] x) => (float[] y) <int64[2] s = {4, 3}> { y = toys.Toy(x, s) }"
    model = parse_model(text, more='"toys": 1')
    probe = Probe(model, [AxisChange(model.graph.inputs[0], 0, 2, 5)])
    (repair,) = candidate_repairs(first_node(model), probe)
    assert (repair.slot, repair.sizes) == (1, (2 * probe.prime, 3))


def test_linear_layers_are_recognized_by_trait(define: Define) -> None:
    define("Toy", "toys", linear_layer="conv")
    define("Opaque", "toys")
    text = """g (float[2] x) => (float[] a, float[] b) <float[3,2] w = {1, 2, 3, 4, 5, 6}> {
      t = toys.Toy(x, w)  a = Neg(t)  u = toys.Opaque(x, w)  b = Neg(u)
    }"""
    model = parse_model(text, more='"toys": 1')
    edit = Edit(model)
    edit.supported_versions = {("toys", name): frozenset({1}) for name in ("Toy", "Opaque")}
    toy, _, opaque, _ = model.graph.nodes
    layer = linear_layer_of(toy.outputs[0], edit)
    assert layer is not None
    assert layer.channels == 3
    assert linear_layer_of(opaque.outputs[0], edit) is None


def test_types_of_intermediate_results_are_those_of_the_declared_constraint(define: Define) -> None:
    define("Toy", "toys", stash_type_constraint="T")
    define("Other", "toys")
    schemas = [schema for name in ("Toy", "Other") if (schema := signature("toys", name, 1)) is not None]
    assert [allowed_types(schema, "stash_type") for schema in schemas] == [
        {"float16", "float"},
        {"float16", "bfloat16", "float", "double"},
    ]
