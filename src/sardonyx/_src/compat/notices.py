"""Notices: what a program asks of another package's interface and does not get, each logged once a process."""

from __future__ import annotations

import logging

log = logging.getLogger("sardonyx.compat")
LOGGED: set[str] = set()


def note_once(what: str, level: int = logging.INFO) -> None:
    """Logs a sentence unless the process has logged it before.

    INFO: a hint about speed or memory that has no effect here.  WARNING: a result or a file differs from what was asked.
    """
    if what not in LOGGED:
        LOGGED.add(what)
        log.log(level, "%s", what)
