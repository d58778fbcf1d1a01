"""The tables of the specification: signatures of every version of every operator, domains and releases."""

from sardonyx._src.schema.catalogue import exact, lookup, operators, replacement_of, versions, withdrawn
from sardonyx._src.schema.releases import (
    Release,
    canonical,
    domains,
    first_ir_version,
    latest,
    newest,
    releases,
)
from sardonyx._src.schema.signature import (
    AttributeSchema,
    AttributeTypeName,
    Default,
    OpSchema,
    Option,
    Parameter,
    Status,
)
from sardonyx._src.schema.vendors import is_vendor_operator, vendor_domains, vendor_names
from sardonyx._src.schema.withdrawals import last_version

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
    "first_ir_version",
    "is_vendor_operator",
    "last_version",
    "latest",
    "lookup",
    "newest",
    "operators",
    "releases",
    "replacement_of",
    "vendor_domains",
    "vendor_names",
    "versions",
    "withdrawn",
]
