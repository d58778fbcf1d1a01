"""Groups that do not divide channels, heads that do not divide hidden sizes, and block sizes, in every operator version.

Both engines refuse them with the same class of error, with fixed and open dims; the checker reports them.
"""

from __future__ import annotations

import pytest

import sardonyx as sx
from cases import Case
from conformance.inference import with_variables
from operator_cases import Key, cases_by_version, changed_model, error_of, feeds_of
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Attribute
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.runtime.session.session import Engine

ENGINES: tuple[Engine, ...] = ("reference", "native")
DIVISORS = (
    *("group", "num_groups", "groups", "offset_group", "num_heads", "q_num_heads", "kv_num_heads"),
    *("block_size", "blocksize"),
)
WRONG = (-1, 0, 7, 11, 1 << 31, 1 << 62)  # none of which divides a size of the cases
PER_TENSOR = ("QuantizeLinear", "DequantizeLinear")  # whose block size 0 means none


def subjects() -> dict[tuple[Key, str], Case]:
    """The first case of each operator version in which an attribute is a divisor of a size."""
    result: dict[tuple[Key, str], Case] = {}
    for key, cases in cases_by_version().items():
        for schema, case in cases:
            for name in DIVISORS:
                if name in schema.attributes and (name in case.attributes or name == "group"):
                    result.setdefault((key, name), case)
    return result


SUBJECTS = subjects()


@pytest.mark.parametrize(
    "subject", SUBJECTS, ids=lambda subject: f"{subject[0][1]}-{subject[0][2]}-{subject[1]}"
)
def test_what_does_not_divide_is_refused_alike(subject: tuple[Key, str]) -> None:
    key, name = subject
    case = SUBJECTS[subject]
    for number in WRONG:
        if number == 0 and key[1] in PER_TENSOR:
            continue
        attribute = Attribute(name, AttributeType.INT, number)
        for form in ("fixed", "open"):
            errors = {}
            for engine in ENGINES:
                model = changed_model(case, attribute)
                if form == "open":
                    with_variables(model, shared=False)
                errors[engine] = error_of(model, engine, feeds_of(case))
            where = f"{key[1]}-{key[2]} {name} = {number}, {form} dims: {errors}"
            assert None not in errors.values() and len(set(errors.values())) == 1, where
        report = sx.check(to_proto.model(changed_model(case, attribute)))
        assert report.of("error"), f"{key[1]}-{key[2]} {name} = {number}: the checker reports nothing"
