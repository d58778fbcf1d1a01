"""The cases of tests/ops by operator version, and models of them in which one attribute or input is changed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

from cases import Case, model_of
from sardonyx._src.errors import SardonyxError
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import Array, Attribute, Model, Tensor
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Engine, Session
from sardonyx._src.schema import OpSchema, lookup

FOLDER = Path(__file__).resolve().parent / "ops"
Key = tuple[str, str, int]  # domain, operator, version


def own_cases() -> Iterator[Case]:
    """The cases in lists of the test modules of operators."""
    for path in sorted(FOLDER.rglob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
        assert spec is not None and spec.loader is not None, f"{path} must be a module"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for value in list(vars(module).values()):
            if isinstance(value, list):
                yield from (case for case in value if isinstance(case, Case))


@cache
def cases_by_version() -> Mapping[Key, list[tuple[OpSchema, Case]]]:
    """The cases of each operator version, with its signature."""
    result: dict[Key, list[tuple[OpSchema, Case]]] = {}
    for case in own_cases():
        schema = lookup(case.domain, case.op, case.version)
        if schema is not None:
            result.setdefault((case.domain, case.op, schema.since_version), []).append((schema, case))
    return result


def feeds_of(case: Case) -> dict[str, RuntimeValue]:
    return {f"x{i}": x for i, x in enumerate(case.inputs) if x is not None or i in case.types}


def changed_model(
    case: Case, attribute: Attribute | None = None, constants: Mapping[int, Array] | None = None
) -> Model:
    """The model of a case with another attribute, or with inputs that are constants.

    Its outputs are declared with the types of the unchanged case, so that the change alone is invalid.
    """
    model = model_of(case)
    (node,) = model.graph.nodes
    with suppress(SardonyxError):  # of a case that is about an error
        infer(model)
    if attribute is not None:
        node.attributes[attribute.name] = attribute
    for i, elements in (constants or {}).items():
        value = node.inputs[i]
        assert value is not None, f"{case} has no input {i}"
        model.graph.remove_input(value)
        value.initializer = Tensor.of(elements)
        model.graph.add_initializer(value)
    return model


def error_of(model: Model, engine: Engine, feeds: Mapping[str, RuntimeValue]) -> type[Exception] | None:
    """The class of the error by which an engine refuses a model; None if it runs."""
    for value in model.graph.outputs:
        value.type = None
    try:
        Session(model, engine=engine).run(feeds)
    except SardonyxError as error:
        return type(error)
    return None
