"""Values that attributes do not list, and numbers out of their range, in every version of every operator.

Both engines refuse them when a session is made, and the checker reports them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

import sardonyx as sx
from operator_cases import cases_by_version, changed_model, feeds_of
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Attribute
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.attribute_domains import INT64_MAX, IntegerDomain, attribute_domains
from sardonyx._src.ops.traits import EnumValues
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.schema import OpSchema, domains, exact, operators
from sardonyx._src.schema import versions as versions_of

ENGINES: tuple[Engine, ...] = ("reference", "native")
RULES = {"SX218", "SX221", "SX224"}
NO_CASES = {
    "ConstantFill",
    "Crop",
    "DynamicSlice",
    "GRUUnit",
    "GivenTensorFill",
    "ImageScaler",
}  # withdrawn ones
OPERATORS = sorted({key[:2] for key in cases_by_version()})


def limited_attributes(schema: OpSchema) -> dict[str, IntegerDomain | EnumValues]:
    """The attributes of an operator version whose values are listed."""
    return {
        name: domain
        for name, domain in attribute_domains(schema).items()
        if name in schema.attributes
        and (isinstance(domain, IntegerDomain) or domain.in_version(schema.since_version) is not None)
    }


def invalid_attributes(schema: OpSchema, name: str, domain: IntegerDomain | EnumValues) -> list[Attribute]:
    """An attribute with each kind of value that is not allowed."""
    kind = AttributeType[schema.attributes[name].type]
    values: Sequence[int | bytes]
    if isinstance(domain, EnumValues):
        values = [b"bogus"]
    else:
        values = [domain.low - 1] + ([domain.high + 1] if domain.high < INT64_MAX else [])
    if kind.name.endswith("S"):
        return [Attribute(name, kind, (value,)) for value in values]
    return [Attribute(name, kind, value) for value in values]


@pytest.mark.parametrize(("domain", "operator"), OPERATORS)
def test_a_value_that_is_not_listed_is_refused(domain: str, operator: str) -> None:
    for key, cases in cases_by_version().items():
        if key[:2] != (domain, operator):
            continue
        schema, case = cases[0]
        for name, values in limited_attributes(schema).items():
            for attribute in invalid_attributes(schema, name, values):
                model = changed_model(case, attribute)
                where = f"{operator}-{key[2]} {name} = {attribute.value!r}"
                codes = {d.rule for d in sx.check(to_proto.model(model)).of("error")}
                assert codes & RULES, f"{where}: the checker reports {codes}"
                for engine in ENGINES:
                    refusal = refusal_of(model, engine, feeds_of(case))
                    assert isinstance(refusal, sx.InvalidModel), f"{where}: {engine}: {refusal!r}"


def refusal_of(model: sx.Model, engine: Engine, feeds: Mapping[str, RuntimeValue]) -> Exception | None:
    """What an engine raises when it makes a session of a model or runs it; None if it does neither."""
    for value in model.graph.outputs:
        value.type = None
    try:
        sx.Session(model, engine=engine).run(feeds)
    except sx.SardonyxError as error:
        return error
    return None


def test_every_operator_version_has_a_case() -> None:
    missing = {
        name
        for domain in domains()
        for name in operators(domain)
        for version in versions_of(domain, name)
        if (schema := exact(domain, name, version)) is not None
        and limited_attributes(schema)
        and (domain, name, version) not in cases_by_version()
    }
    assert missing <= NO_CASES
