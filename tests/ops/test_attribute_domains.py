"""The values that attributes may have, against the text of the wheel's signatures."""

from __future__ import annotations

import re

import pytest

from sardonyx._src.ops.attribute_domains import BY_NAME, BY_OPERATOR, attribute_domains
from sardonyx._src.schema import domains, exact, lookup, operators, versions

LISTS_VALUES = re.compile(
    r"\bwhether\b|\bflag|\bboolean\b|set to [`']?1|0 or 1|\bif true\b|one of|nonneg|greater than or equal|positive"
    r"|only .* supported|enum|\bmode\b|supported",
    re.I,
)
UNLIMITED = {  # whose texts have such words
    ("is_test", "any number but 0 means test mode"),
    ("multi_class", "0 is named, and no other number"),
    ("axis", "limited by the rank"),
    ("scan_input_axes", "limited by the rank"),
    ("scan_output_axes", "limited by the rank"),
    ("cats_int64s", "exactly one of several attributes"),
    ("cats_strings", "exactly one of several attributes"),
    ("classlabels_int64s", "exactly one of several attributes"),
    ("classlabels_ints", "exactly one of several attributes"),
    ("classlabels_strings", "exactly one of several attributes"),
    ("default_int64", "exactly one of several attributes"),
    ("default_string", "exactly one of several attributes"),
    ("int64_vocabulary", "exactly one of several attributes"),
    ("string_vocabulary", "exactly one of several attributes"),
    ("keys_strings", "exactly one of several attributes"),
    ("values_strings", "exactly one of several attributes"),
}


def test_each_text_that_lists_values_has_a_domain() -> None:
    wheel = pytest.importorskip("onnx.defs")
    unlimited = {name for name, _ in UNLIMITED}
    missing = set()
    for schema in wheel.get_all_schemas_with_history():
        own = lookup(schema.domain, schema.name, schema.since_version)
        if own is None:
            continue
        listed = attribute_domains(own).keys() | unlimited
        if (own.name, own.since_version) == ("Cast", 1):
            continue  # whose element type is a name
        for name, attribute in schema.attributes.items():
            takes_values = attribute.type.name in ("INT", "INTS", "STRING", "STRINGS")
            if takes_values and name not in listed and LISTS_VALUES.search(attribute.description):
                missing.add((schema.name, schema.since_version, name))
    assert not missing


def test_each_domain_has_an_attribute() -> None:
    schemas = [
        exact(domain, name, version)
        for domain in domains()
        for name in operators(domain)
        for version in versions(domain, name)
    ]
    pairs = {(s.name, name) for s in schemas if s is not None for name in s.attributes}
    assert BY_NAME.keys() <= {name for _, name in pairs}
    assert BY_OPERATOR.keys() <= pairs


def test_defaults_are_in_their_domains() -> None:
    from sardonyx._src.ops.attribute_domains import find_invalid_value
    from sardonyx._src.ops.bind import default_of

    for domain in domains():
        for name in operators(domain):
            for version in versions(domain, name):
                schema = exact(domain, name, version)
                assert schema is not None
                for attribute in schema.attributes.values():
                    if attribute.default not in (None, b"foward"):  # the text of GRU-1 has this slip
                        where = f"{name}-{version} {attribute.name}"
                        assert not find_invalid_value(schema, attribute.name, default_of(attribute)), where
