"""Networks as exporters and rewriters write them are right in all sizes: `make test-zoo`; EVERY=1: all of their variants."""

from __future__ import annotations

import os

import pytest

from model_zoo.campaign import judge_network, store
from model_zoo.catalogue import NETWORKS

EVERY = bool(os.environ.get("EVERY"))


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_network_is_right_in_all_sizes(name: str) -> None:
    verdicts = judge_network(NETWORKS[name], every=EVERY)
    store(NETWORKS[name], verdicts, every=EVERY)
    faults = [f"{verdict.variant}: {fault}" for verdict in verdicts for fault in verdict.faults]
    assert not faults, "\n".join(faults)
    assert any(not verdict.missing for verdict in verdicts), "no variant could be exported"


def test_there_are_a_hundred_networks() -> None:
    assert len(NETWORKS) >= 100
