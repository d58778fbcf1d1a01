"""Lookup of operator versions, and listings."""

from __future__ import annotations

import pytest

from sardonyx._src import schema


@pytest.mark.parametrize(("version", "since"), [(1, 1), (10, 1), (11, 11), (12, 11), (13, 13), (28, 13)])
def test_the_newest_version_that_is_not_newer_than_the_opset_holds(version: int, since: int) -> None:
    softmax = schema.lookup("", "Softmax", version)
    assert softmax is not None
    assert (softmax.name, softmax.since_version) == ("Softmax", since)


@pytest.mark.parametrize("version", [-1, 0, 30, 2**63])
def test_an_opset_that_does_not_exist_has_no_operators(version: int) -> None:
    assert schema.lookup("", "Softmax", version) is None


def test_an_operator_is_unknown_before_its_first_version() -> None:
    assert schema.lookup("", "Gelu", 19) is None
    gelu = schema.lookup("", "Gelu", 20)
    assert gelu is not None
    assert gelu.since_version == 20


def test_a_deprecated_version_is_found_and_says_so() -> None:
    upsample = schema.lookup("", "Upsample", 28)
    assert upsample is not None
    assert (upsample.since_version, upsample.deprecated) == (10, True)


def test_the_default_domain_has_two_spellings() -> None:
    plain, spelled = schema.lookup("", "Softmax", 13), schema.lookup("ai.onnx", "Softmax", 13)
    assert plain is not None
    assert plain is spelled
    assert plain.domain == ""
    assert schema.operators("") == schema.operators("ai.onnx")
    assert schema.latest("") == schema.latest("ai.onnx") == 28


@pytest.mark.parametrize(
    ("domain", "op_type"),
    [
        ("", "softmax"),
        ("", "NoSuchOperator"),
        ("", ""),
        ("", "../releases"),
        ("", "Softmax.json"),
        ("", "Softmax\0"),
        ("ai.onnx.ml", "Softmax"),
        ("ai.onnx.training", "Adam"),
        ("com.example", "Softmax"),
        ("..", "Softmax"),
    ],
)
def test_a_name_that_is_not_an_operator_is_not_found(domain: str, op_type: str) -> None:
    assert schema.lookup(domain, op_type, 1) is None
    assert schema.exact(domain, op_type, 1) is None
    assert schema.versions(domain, op_type) == ()


def test_exact_takes_no_version_in_between() -> None:
    assert schema.exact("", "Softmax", 12) is None
    softmax = schema.exact("ai.onnx", "Softmax", 11)
    assert softmax is not None
    assert softmax.attributes["axis"].default == 1


def test_versions_are_listed_from_old_to_new() -> None:
    assert schema.versions("", "Softmax") == (1, 11, 13)
    assert schema.versions("ai.onnx.ml", "LabelEncoder") == (1, 2, 4)


def test_operators_are_listed_by_name() -> None:
    assert schema.operators("ai.onnx.preview.training") == ("Adagrad", "Adam", "Gradient", "Momentum")
    assert schema.operators("ai.onnx.training") == ()
    assert schema.operators("com.example") == ()


def test_there_are_228_operators_and_660_versions_in_5_domains() -> None:
    listed = [(domain, op) for domain in schema.domains() for op in schema.operators(domain)]
    assert len(schema.domains()) == 5
    assert len(listed) == len(set(listed)) == 228
    assert sum(len(schema.versions(domain, op)) for domain, op in listed) == 660
    assert [len(schema.operators(domain)) for domain in schema.domains()] == [204, 19, 1, 4, 0]


def test_every_listed_version_is_the_one_its_own_opset_means() -> None:
    for domain in schema.domains():
        for op in schema.operators(domain):
            for since in schema.versions(domain, op):
                assert schema.lookup(domain, op, since) is schema.exact(domain, op, since) is not None
