"""What the specification tabulates: the signature of every version of every operator, domains and releases."""

from sardonyx.schema.catalogue import exact, lookup, operators, versions, withdrawn
from sardonyx.schema.releases import Release, canonical, domains, latest, releases
from sardonyx.schema.signature import (
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
