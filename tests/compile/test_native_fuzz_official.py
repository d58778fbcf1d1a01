"""The official node cases, also with constant inputs and open dims, through all stages of compilation without kernels.

Every region that a matcher returns can be laid out and lowered; a matcher changes nothing but the guards of its scope.
`make fuzz` takes more cases of each operator.
"""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

import pytest

import replay_corpus
from compile.stages import AVX2, AVX512, compile_stages
from sampling import FACTOR
from sardonyx._src.compile.partition import BoundNode, Region, Scope
from sardonyx._src.compile.partition.regions.registry import Matcher, matchers_of
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.loading.load import load

CASES_PER_OPERATOR = 2  # at least; each of them in up to three variants


def snapshot(scope: Scope) -> tuple[object, ...]:
    """What matchers may not change."""
    nodes = [(node, tuple(node.inputs), tuple(node.outputs)) for node in scope.graph.nodes]
    return set(scope.claimed), dict(scope.deferred), dict(scope.writers), dict(scope.outputs), nodes


def matchers_that_change_nothing(domain: str, name: str, version: int) -> Iterator[Matcher]:
    """The matchers of an operator, with an assertion that they leave the scope and the graph as they are."""
    for matcher in matchers_of(domain, name, version):

        def match(op: BoundNode, scope: Scope, matcher: Matcher = matcher) -> Region[object] | None:
            before = snapshot(scope)
            region = matcher(op, scope)
            assert snapshot(scope) == before, f"the matcher of {name}-{version} changes its scope"
            return region

        yield match


def official_cases(monkeypatch: pytest.MonkeyPatch) -> Iterator[replay_corpus.Case]:
    monkeypatch.setattr(replay_corpus, "CASES_PER_OPERATOR", CASES_PER_OPERATOR * FACTOR)
    yield from replay_corpus.node_cases()


def test_every_region_of_the_official_cases_is_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0
    with patch(
        "sardonyx._src.compile.partition.partitioner.partition.matchers_of", matchers_that_change_nothing
    ):
        for case in official_cases(monkeypatch):
            try:
                model = load(case.model)
            except SardonyxError:
                continue  # an invalid model, on purpose
            try:
                compile_stages(model, (AVX2, AVX512)[count % 2])
            except AssertionError as error:
                raise AssertionError(f"{case.name}: {error}") from error
            count += 1
    assert count > 500
