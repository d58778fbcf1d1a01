"""Suppression: drops findings that follow from others, and duplicates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from sardonyx._src.check.engine.findings import LocatedFinding, Steps


def drop_suppressed(findings: list[LocatedFinding]) -> list[LocatedFinding]:
    """The findings that follow from no other, without duplicates, in document order."""
    locations: dict[str, set[Steps]] = {}
    enclosing: dict[str, set[Steps]] = {}
    for located in findings:
        locations.setdefault(located.rule.code, set()).add(located.steps)
        enclosing.setdefault(located.rule.code, set()).update(prefixes(located.steps))
    suppressing = {located.steps for located in findings if located.rule.suppresses}
    result = [
        located
        for located in findings
        if not is_consequence(located, locations, enclosing) and not is_inside(located, suppressing)
    ]
    result.sort(key=lambda located: (located.steps, located.rule.code))
    return list(deduplicate(result))


def prefixes(steps: Steps) -> Iterator[Steps]:
    """The location itself and all that enclose it."""
    return (steps[:length] for length in range(len(steps) + 1))


def deduplicate(findings: Iterable[LocatedFinding]) -> Iterator[LocatedFinding]:
    """The first of all findings of one rule with the same key, and those without a key."""
    seen: set[tuple[str, str]] = set()
    for located in findings:
        key = (located.rule.code, located.finding.dedup_key)
        if not located.finding.dedup_key or key not in seen:
            seen.add(key)
            yield located


def is_consequence(
    located: LocatedFinding, locations: Mapping[str, set[Steps]], enclosing: Mapping[str, set[Steps]]
) -> bool:
    """Whether a rule that suppresses this one has a finding at its location, inside it or around it."""
    return any(
        located.steps in enclosing[code] or any(steps in locations[code] for steps in prefixes(located.steps))
        for code in located.rule.suppressed_by
        if code in locations
    )


def is_inside(located: LocatedFinding, suppressing: set[Steps]) -> bool:
    return (
        not located.rule.suppresses
        and bool(suppressing)
        and any(steps in suppressing for steps in prefixes(located.steps))
    )
