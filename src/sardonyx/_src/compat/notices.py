"""Notices about requests of a program that the interface of another package has no effect for, each logged once a process."""

from __future__ import annotations

import logging

log = logging.getLogger("sardonyx.compat")
LOGGED: set[str] = set()


def note_once(what: str, level: int = logging.INFO) -> None:
    """Logs a sentence unless the process has logged it before.

    level: INFO for a hint about speed or memory that has no effect here; WARNING if a result or a file differs from the
    request.
    """
    if what not in LOGGED:
        LOGGED.add(what)
        log.log(level, "%s", what)
