"""The tables of the specification: signatures of every version of every operator, domains and releases."""

from sardonyx._src.schema.catalogue import exact, lookup, operators, versions, withdrawn
from sardonyx._src.schema.releases import Release, canonical, domains, latest, releases
from sardonyx._src.schema.signature import (
    AttributeSchema,
    AttributeTypeName,
    Default,
    OpSchema,
    Option,
    Parameter,
    Status,
)

__all__ = [
    "AttributeSchema",
    "AttributeTypeName",
    "Default",
    "OpSchema",
    "Option",
    "Parameter",
    "Release",
    "Status",
    "canonical",
    "domains",
    "exact",
    "latest",
    "lookup",
    "operators",
    "releases",
    "versions",
    "withdrawn",
]
