"""The official suite on the native engine, run by the wheel's own runner, nothing excluded."""

from __future__ import annotations

from conformance.runner import count_tests, runner_classes

CLASSES = runner_classes("native", __name__)
globals().update(CLASSES)


def test_the_suite_is_whole() -> None:
    assert sum(count_tests(CLASSES).values()) == 2033
