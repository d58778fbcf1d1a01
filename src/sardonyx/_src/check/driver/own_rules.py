"""Rules of callers: functions of a typed model that the checker runs like its own."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar, cast, get_args

from sardonyx._src.arguments import require_choice, require_text, type_name
from sardonyx._src.check.driver.pages import OWN_PAGES, RulePage
from sardonyx._src.check.engine import Finding, Severity
from sardonyx._src.check.engine.api import MAX_IR_VERSION, Rule, RuleFunction
from sardonyx._src.check.engine.registry import OWN_RULES
from sardonyx._src.check.type_rules.subjects import TYPE_RULE_SUBJECTS, TypedModel
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Model, Node, Value

Place: TypeAlias = "Node | Value | None"
OwnRule: TypeAlias = "Callable[[Model], Iterable[tuple[Place, str]]]"
R = TypeVar("R", bound="Callable[[Model], Iterable[tuple[Node | Value | None, str]]]")
CODE = re.compile(r"(?!SX)[A-Z]{2,8}\d{3}")
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def rule(
    code: str, name: str, *, cure: str, severity: Severity = "warning", clause: str = ""
) -> Callable[[R], R]:
    """A decorator that makes a rule of a function; `sx.check` then reports what the function yields.

        @rule("ACME001", "batch-is-fixed", cure="export the model with a symbolic batch size")
        def check_batch(model):
            for value in model.graph.inputs:
                if isinstance(value.type.shape[0], int):
                    yield value, f"the batch of {value.name!r} is fixed"

    The function is called if the structure of the model is sound.  It receives the model with the inferred types of all
    values, and yields pairs: the node or value that a violation is about, or None for the model, and a message.
    code: capital letters other than SX, and three digits.
    name: words joined by dashes.
    cure: what to do about a violation.
    severity: "error", "warning" or "info".
    clause: where the requirement is stated.

    Raises InputError for a code or name of another form.  A second definition of a code replaces the first.
    """
    for label, text in (("code", code), ("name", name), ("cure", cure), ("clause", clause)):
        require_text(label, text)
    require_choice("severity", severity, get_args(Severity))
    if not CODE.fullmatch(code):
        raise InputError(
            f"code must be capital letters other than SX, and three digits; got {code!r}", name="code"
        )
    if not NAME.fullmatch(name):
        raise InputError(f"name must be words joined by dashes; got {name!r}", name="name")

    def define(function: R) -> R:
        if not callable(function):
            raise TypeError(f"the rule must decorate a function of a model; got {type_name(function)}")
        register_rule(code, name, function, severity, clause, cure)
        return function

    return define


def register_rule(
    code: str, name: str, function: OwnRule, severity: Severity, clause: str, cure: str
) -> None:
    """Registers a rule about the typed model."""

    def run(typed_model: TypedModel) -> Iterator[Finding]:
        for subject, message in function(typed_model.model):
            yield Finding(path_of(subject, typed_model), message, cure)

    TYPE_RULE_SUBJECTS[code] = TypedModel
    nothing: frozenset[str] = frozenset()
    callback = cast(RuleFunction, run)
    OWN_RULES[code] = Rule(
        code,
        severity,
        (),
        0,
        MAX_IR_VERSION,
        nothing,
        False,
        nothing,
        False,
        "default",
        callback,
        function.__module__,
    )
    title, _, why = (inspect.getdoc(function) or name).partition("\n")
    OWN_PAGES[code] = RulePage(
        code, name, title, severity, "default", clause, (), why.strip() or cure, "", ""
    )


def path_of(subject: Place, typed_model: TypedModel) -> str:
    """The path from the model's record to a node or a value; "" for the model, and for nodes that loading has added."""
    if isinstance(subject, Node):
        return typed_model.path(subject)
    if not isinstance(subject, Value):
        return ""
    if subject.producer is not None:
        path = typed_model.path(subject.producer)
        return f"{path}.output[{subject.producer.outputs.index(subject)}]" if path else ""
    graph = typed_model.model.graph
    if subject in graph.inputs:
        return f"graph.input[{graph.inputs.index(subject)}]"
    return "graph" if subject.graph is graph else ""
