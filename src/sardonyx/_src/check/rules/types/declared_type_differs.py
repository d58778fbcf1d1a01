"""SX701 declared-type-differs: the declared type of a value contradicts that of its operator's output.

Clause: IR.md, "Graphs", "Nodes"
Catalogue: GRA-18
Why:    tools that rely on the declaration use a wrong type.  Dimension variables and unknown sizes contradict nothing;
        numbers, ranks, element types and kinds can.
Bad:    g (float[2, 3] x) => (float[2, 3] y) { y = Transpose <perm = [1, 0]> (x) }
Good:   g (float[2, 3] x) => (float[N, M] y) { y = Transpose <perm = [1, 0]> (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import OutputDeclaration, type_rule
from sardonyx._src.proto.record import brief


@type_rule("SX701", about=OutputDeclaration)
def check_declared_type_differs(declaration: OutputDeclaration) -> Iterator[Finding]:
    if declaration.error is not None:
        message = f"{brief(declaration.value.name)} is declared {declaration.declared}; its operator produces {declaration.inferred}"
        yield Finding(declaration.path, message, "correct the declaration, or the nodes before it")
