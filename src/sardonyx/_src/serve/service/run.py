"""Runs a service, in one process or in several."""

from __future__ import annotations

import asyncio

from sardonyx._src.serve.operation.event_loop import new_loop
from sardonyx._src.serve.service.processes.supervisor import Supervisor
from sardonyx._src.serve.service.service import Service
from sardonyx._src.serve.settings.service_settings import ServiceSettings


def run_service(settings: ServiceSettings) -> None:
    """Serves until a signal ends the service.  Raises InputError for wrong settings, and OSError."""
    service = Service(settings) if settings.processes == 1 else Supervisor(settings)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(service.run())
