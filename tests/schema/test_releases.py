"""Domains, releases, and the opset versions of both."""

from __future__ import annotations

import pytest
from onnx import defs, helper

from sardonyx._src import schema
from sardonyx._src.schema import Release


def test_domains_and_their_newest_versions() -> None:
    assert {domain: schema.latest(domain) for domain in schema.domains()} == {
        "": 28,
        "ai.onnx.ml": 5,
        "ai.onnx.preview": 1,
        "ai.onnx.preview.training": 1,
        "ai.onnx.training": 1,
    }
    assert {d: (1, schema.latest(d)) for d in schema.domains()} == defs.C.schema_version_map()


def test_no_domain_has_an_operator_newer_than_its_newest_version() -> None:
    highest = {
        domain: max(schema.versions(domain, op)[-1] for op in schema.operators(domain))
        for domain in schema.domains()
        if schema.operators(domain)
    }
    assert highest == {"": 29, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}


def test_set_29_of_the_default_domain_is_under_development() -> None:
    ahead = {domain: schema.newest(domain) for domain in schema.domains()}
    assert ahead == {domain: schema.latest(domain) for domain in schema.domains()} | {"": 29}
    assert schema.newest("com.microsoft") == 1


@pytest.mark.parametrize(("version", "ir_version"), [(1, 3), (21, 10), (28, 14), (29, 14)])
def test_a_set_under_development_needs_the_newest_ir_version(version: int, ir_version: int) -> None:
    assert schema.first_ir_version("", version) == ir_version
    assert schema.first_ir_version("com.example", version) == 1


def test_the_newest_version_of_an_unknown_domain_is_not_a_question() -> None:
    with pytest.raises(AssertionError, match=r"'com\.example' is not a domain of ONNX"):
        schema.latest("com.example")


def test_releases_from_the_first_to_the_newest() -> None:
    assert schema.releases()[0] == Release("1.0", 3, {"": 1, "ai.onnx.ml": 1})
    assert schema.releases()[-1] == Release("1.23.0", 14, {"": 28, "ai.onnx.ml": 5, "ai.onnx.training": 1})


def test_releases_are_those_of_the_wheel() -> None:
    order = ("", "ai.onnx.ml", "ai.onnx.training")
    ours = [(r.name, r.ir_version, *(r.opsets[d] for d in order if d in r.opsets)) for r in schema.releases()]
    assert ours == helper.VERSION_TABLE
