"""Processes of a service besides its first."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Mapping, Sequence


async def start_python(
    module: str,
    end: socket.socket,
    descriptors: Sequence[int] = (),
    environment: Mapping[str, str] | None = None,
) -> asyncio.subprocess.Process:
    """Starts a process that calls `main` of a module with the descriptor of a socket, and imports from where this process does.

    descriptors: others that it inherits.  environment: variables besides those of this process.
    """
    code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main({end.fileno()})"
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code),
        pass_fds=(end.fileno(), *descriptors),
        env={**os.environ, **(environment or {})},
        start_new_session=True,  # Ctrl-C reaches the first process alone, which ends the others
    )
