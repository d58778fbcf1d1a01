"""Logs of a service on standard error: lines of text, or of JSON for collectors."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Literal, TextIO

LogForm = Literal["text", "json", "off"]
LOG_FORMS = ("text", "json", "off")
LOGGERS = {"sardonyx.serve": logging.INFO, "uvicorn.error": logging.WARNING, "py.warnings": logging.WARNING}


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON: time, level, logger, message, the fields of the record, and an error's traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """A record as a line of text: time, level, message and fields."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        return super().formatMessage(record) + "".join(f" {k}={v}" for k, v in fields.items())


def configure_logs(form: LogForm, stream: TextIO | None = None) -> None:
    """Directs the logs of the service and its HTTP server, and Python's warnings, to a stream; None: to standard error."""
    handler: logging.Handler = logging.NullHandler()
    if form != "off":
        handler = logging.StreamHandler(stream or sys.stderr)
        handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.captureWarnings(True)
    for name, level in LOGGERS.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
