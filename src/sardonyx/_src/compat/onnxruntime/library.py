"""Functions of the module: seeds, logging, versions."""

from __future__ import annotations

import logging

from sardonyx._src.arguments import require_integer
from sardonyx._src.dataclass import dataclass

VERSION = "1.31.1"  # the release of onnxruntime whose interface this is
SEVERITIES = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


@dataclass(slots=True)
class Defaults:
    """Defaults of sessions that are opened later; `set_seed` sets the seed."""

    seed: int | None = None


DEFAULTS = Defaults()


def set_seed(seed: int) -> None:
    """Sets the seed of random operators for sessions that are opened later."""
    require_integer("seed", seed)
    DEFAULTS.seed = int(seed)


def default_seed() -> int | None:
    return DEFAULTS.seed


def set_default_logger_severity(severity: int) -> None:
    """Sets the lowest severity that is logged: 0 verbose, 1 information, 2 warnings, 3 errors, 4 fatal errors."""
    require_integer("severity", severity)
    if not 0 <= severity < len(SEVERITIES):
        raise ValueError(f"the severity must be 0 to {len(SEVERITIES) - 1}; got {severity}")
    logging.getLogger("sardonyx").setLevel(SEVERITIES[severity])


def set_default_logger_verbosity(level: int) -> None:
    """No effect: messages have severities only."""


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    return VERSION


def get_build_info() -> str:
    """The implementation of the interface."""
    return f"sardonyx, with the interface of onnxruntime {VERSION}"


def enable_telemetry_events() -> None:
    """No effect: there is no telemetry."""


def disable_telemetry_events() -> None:
    """No effect: there is no telemetry."""


def has_collective_ops() -> bool:
    return False


def preload_dlls(*args: object, **kwargs: object) -> None:
    """No effect: there are no libraries of other devices."""


def set_global_thread_pool_sizes(intra_op: int, inter_op: int) -> None:
    """No effect: SessionOptions.intra_op_num_threads is the number of threads of a session."""


def print_debug_info() -> None:
    """Prints the implementation of the interface."""
    print(get_build_info())  # noqa: T201  # its purpose
