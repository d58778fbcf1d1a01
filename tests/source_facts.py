"""What tests of the sources ask about a file, from one parse of it: its imports, literals, bound names and classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

MODULE_NAME = re.compile(r"sardonyx\._src(\.[a-z0-9_]+)+")
NODE_BUILDERS = {"Node", "make", "emit_node", "with_axes"}  # called with the operator of a new node


@dataclass(slots=True)
class SourceFacts:
    """The facts of a file, at any depth.

    imports: dotted names, with leading dots for relative imports.  run_time_imports: without those that only type checkers
    see.  named_modules: literals that are dotted names of our own modules, which `import_module` may import.  literals:
    strings, without docstrings, exported names and the operators of nodes that the file builds.  bound_names: names of
    definitions, parameters, variables and attributes, with their lines.  classes: the names of classes.
    """

    imports: list[str] = field(default_factory=list)
    run_time_imports: list[str] = field(default_factory=list)
    literals: list[str] = field(default_factory=list)
    named_modules: list[str] = field(default_factory=list)
    bound_names: list[tuple[str, int]] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)


@cache
def facts_of(path: Path) -> SourceFacts:
    """The facts of a file; the tree is dropped, because that of the whole project takes much memory."""
    facts = SourceFacts()
    add_facts(ast.parse(path.read_text()), facts, is_run_time=True, has_literals=True)
    return facts


def add_facts(root: ast.AST, facts: SourceFacts, *, is_run_time: bool, has_literals: bool) -> None:
    """Adds the facts of a tree; of parts that only type checkers see, or without literals, by recursive calls."""
    pending = [root]
    while pending:
        node = pending.pop()
        skipped: ast.AST | None = None
        match node:
            case ast.Import() | ast.ImportFrom():
                facts.imports += imported_names(node)
                if is_run_time:
                    facts.run_time_imports += imported_names(node)
            case ast.Constant(value=str()) if has_literals:
                facts.literals.append(str(node.value))
                if MODULE_NAME.fullmatch(str(node.value)):
                    facts.named_modules.append(str(node.value))
            case ast.Name(ctx=ast.Store()):
                facts.bound_names.append((node.id, node.lineno))
            case ast.Attribute(ctx=ast.Store()):
                facts.bound_names.append((node.attr, node.lineno))
            case ast.arg():
                facts.bound_names.append((node.arg, node.lineno))
            case ast.FunctionDef():
                facts.bound_names.append((node.name, node.lineno))
            case ast.ClassDef():
                facts.bound_names.append((node.name, node.lineno))
                facts.classes.append(node.name)
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Call() if node.args and called_name(node.func) in NODE_BUILDERS:
                skipped = node.args[0]
                add_facts(skipped, facts, is_run_time=is_run_time, has_literals=False)
            case ast.Assign() if ast.unparse(node.targets[0]) == "__all__":
                continue  # names of what the module exports, not texts
            case ast.If() if ast.unparse(node.test) == "TYPE_CHECKING":
                for statement in node.body:
                    add_facts(statement, facts, is_run_time=False, has_literals=has_literals)
                pending += node.orelse
                continue
        pending += [child for child in ast.iter_child_nodes(node) if child is not skipped]


def imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The dotted names that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        module = "." * node.level + (f"{node.module}." if node.module else "")
        yield from (f"{module}{alias.name}" for alias in node.names)


def called_name(function: ast.expr) -> str:
    """The last part of the name of a called function or method."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
