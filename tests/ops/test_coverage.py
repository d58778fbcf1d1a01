"""Coverage is computed: every version of every operator has its facets and a case of its own."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from body_types import assert_body_types, assert_body_without_sizes
from cases import Case
from sardonyx._src.ops.registry import find, signature
from sardonyx._src.schema import AttributeSchema, OpSchema, domains, exact, operators, versions, withdrawn

FOLDER = Path(__file__).parent
OLDEST_SET_OF_BODIES = {"": 9, "ai.onnx.ml": 18, "ai.onnx.preview": 16}  # by domain of the operator
WITHOUT_KERNEL = {("ai.onnx.preview.training", "Gradient", 1)}  # sessions replace it by other operators


def schemas() -> Iterator[OpSchema]:
    """Every version of every operator, and the withdrawn ones."""
    for domain in domains():
        for name in operators(domain):
            for version in versions(domain, name):
                schema = exact(domain, name, version)
                assert schema is not None
                yield schema
    yield from withdrawn()


def key(schema: OpSchema) -> tuple[str, str, int]:
    return schema.domain, schema.name, schema.since_version


@cache
def cases() -> tuple[Case, ...]:
    """Every case in a list of a test module below this folder."""
    cases_of_module: list[Case] = []
    for path in sorted(FOLDER.rglob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for value in vars(module).values():
            if isinstance(value, list | tuple):
                cases_of_module += [case for case in value if isinstance(case, Case)]
    return tuple(cases_of_module)


def test_every_version_has_a_kernel() -> None:
    missing = {
        key(s)
        for s in schemas()
        if (op := find(s.domain, s.name)) is None or s.since_version not in op.kernels
    }
    assert missing == WITHOUT_KERNEL


def test_every_version_has_an_infer_facet() -> None:
    missing = {
        key(s)
        for s in schemas()
        if (op := find(s.domain, s.name)) is None or s.since_version not in op.infers
    }
    assert missing == set()


def test_every_version_has_a_case() -> None:
    covered = set()
    for case in cases():
        schema = signature(case.domain, case.op, case.version)
        if schema is not None:
            covered.add(key(schema))
    missing = {key(s) for s in schemas()} - covered
    assert missing == WITHOUT_KERNEL


def test_every_version_that_is_a_function_has_a_body() -> None:
    missing = {key(s) for s in schemas() if s.is_function and not body_opset(s)}
    assert missing == set()


def test_bodies_fit_into_models_of_their_operators_set() -> None:
    """Those of the oldest operators need a set that has broadcasting and Where."""
    newer = {
        key(s)
        for s in schemas()
        if body_opset(s) > max(s.since_version, OLDEST_SET_OF_BODIES.get(s.domain, 0))
    }
    assert newer == set()


def body_opset(schema: OpSchema) -> int:
    """The opset that the body imports; 0 if there is no body."""
    op = find(schema.domain, schema.name)
    body = op.bodies.get(schema.since_version) if op is not None else None
    return body.opset if body is not None else 0


def test_nodes_of_bodies_are_what_their_operator_set_allows() -> None:
    """Operators that exist, with the attributes, numbers of inputs and element types of their signatures."""
    for case in cases():
        schema = signature(case.domain, case.op, case.version)
        if schema is not None and body_opset(schema):
            assert_body_types(case)


def test_bodies_hold_for_sizes_known_only_at_run_time() -> None:
    """But for these: the one has a text for each number of axes, the other a Conv with a group for each channel."""
    for case in cases():
        schema = signature(case.domain, case.op, case.version)
        if schema is not None and body_opset(schema):
            assert_body_without_sizes(case, needed={"AffineGrid", "CausalConvWithState"})


def test_facets_name_only_versions_that_exist() -> None:
    known = {key(s) for s in schemas()}
    for domain in domains():
        for name in operators(domain):
            op = find(domain, name)
            if op is not None:
                for table in (op.infers, op.kernels, op.values, op.bodies):
                    assert {(domain, name, v) for v in table} <= known, f"{name}: {sorted(table)}"


def test_every_kernel_takes_or_ignores_every_attribute() -> None:
    for schema in schemas():
        op = find(schema.domain, schema.name)
        if op is None or schema.since_version not in op.kernels:
            continue
        kernel = op.kernels[schema.since_version]
        lost = {
            a.name for a in schema.attributes.values() if isinstance(a, AttributeSchema)
        } - kernel.keywords
        assert lost <= kernel.ignores, f"{key(schema)}: {sorted(lost - kernel.ignores)}"


def test_every_operator_says_in_a_line_what_it_does() -> None:
    from operators_page import about

    silent = {
        name
        for d in domains()
        for name in operators(d)
        if (op := find(d, name)) is not None and not about(op)
    }
    assert silent == set()
