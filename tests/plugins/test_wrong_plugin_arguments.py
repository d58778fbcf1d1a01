"""Wrong arguments of the decorators of plugins: errors of ours that say what is expected."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from sardonyx._src.check.engine.registry import OWN_RULES
from sardonyx._src.rewrite.own_passes import OWN_PASSES
from sardonyx.plugins import graph_pass, pattern, rule
from test_wrong_arguments import WRONG, error_of, is_deliberate

Options = dict[str, object]
DECORATORS: dict[str, tuple[Callable[..., object], Options]] = {
    "graph_pass": (graph_pass, {"name": "own", "phase": "fuse"}),
    "pattern": (
        pattern,
        {"before": "y = Neg(x)", "after": "y = Identity(x)", "name": "own", "phase": "fuse"},
    ),
    "rule": (
        rule,
        {"code": "ACME001", "name": "own", "cure": "do so", "severity": "info", "clause": ""},
    ),
}
ARGUMENTS = [
    (name, argument) for name, (_, options) in DECORATORS.items() for argument in (*options, "function")
]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Nothing that is registered outlives its test."""
    rules = dict(OWN_RULES)
    yield
    OWN_PASSES.clear()
    OWN_RULES.clear()
    OWN_RULES.update(rules)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_wrong_arguments_of_decorators_are_refused(name: str, argument: str) -> None:
    decorator, options = DECORATORS[name]

    def decorate(function: object, **arguments: object) -> None:
        decorator(**arguments)(function)  # type: ignore[operator]  # what it returns is a decorator

    assert error_of(decorate, {"function": lambda _: [], **options}) is None
    for kind, wrong in WRONG.items():
        error = error_of(decorate, {"function": lambda _: [], **options, argument: wrong()})
        assert error is None or is_deliberate(error), f"{name}({argument}={kind}): {error!r}"
