"""Start of the additional Python processes of a service: workers, and the process of gRPC."""

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
    """Starts a process that calls `main` of a module with the descriptor of a socket; its import path is that of this process.

    end: the socket.
    descriptors: other file descriptors that the process inherits.
    environment: environment variables in addition to those of this process.
    """
    code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import main; main({end.fileno()})"
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code),
        pass_fds=(end.fileno(), *descriptors),
        env={**os.environ, **(environment or {})},
        start_new_session=True,  # so that Ctrl-C reaches only the first process, which ends the others
    )
