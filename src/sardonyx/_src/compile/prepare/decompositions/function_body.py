"""Replaces operators by their bodies: the functions by which the specification or this project defines them."""

from __future__ import annotations

import logging

from sardonyx._src.compile.prepare.decompositions.body_conditions import refuses_alike
from sardonyx._src.convert.expansion import expand
from sardonyx._src.errors import ConversionError, EvaluationError, InferenceError
from sardonyx._src.ir import Node
from sardonyx._src.rewrite.engine.edit import Edit

log = logging.getLogger(__name__)


def decompose(node: Node, edit: Edit) -> bool:
    """Replaces a node by the body of its operator, if it has one for the types of the node."""
    if edit.operator_of(node) is None or not refuses_alike(node, edit):
        return False
    try:
        expand(edit.model, [node])
    except (ConversionError, InferenceError, EvaluationError) as error:
        log.info("a reference kernel is called: %s", error)
        return False
    return True
