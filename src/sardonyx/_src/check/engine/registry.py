"""Discovery of rules: every module in a folder below `check/rules` that registers one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache

from sardonyx._src.check import rules as rules_package
from sardonyx._src.check.engine.api import REGISTERED_RULES, Rule

OWN_RULES: dict[str, Rule] = {}  # the rules of callers, by code


def rules() -> Mapping[str, Rule]:
    """Every rule by its code, those of callers last."""
    return {**shipped_rules(), **OWN_RULES} if OWN_RULES else shipped_rules()


@cache
def shipped_rules() -> Mapping[str, Rule]:
    """Every rule of this package by its code; asserts that no two modules share a code."""
    for module in pkgutil.walk_packages(rules_package.__path__, f"{rules_package.__name__}."):
        importlib.import_module(module.name)
    by_code: dict[str, Rule] = {}
    for registered in sorted(REGISTERED_RULES, key=lambda r: r.code):
        other = by_code.get(registered.code)
        assert other is None, f"{registered.code} is both {registered.module} and {other and other.module}"
        by_code[registered.code] = registered
    return by_code


def name_of(rule: Rule) -> str:
    """The rule's name, which is that of its file."""
    return rule.module.rpartition(".")[2].replace("_", "-")
