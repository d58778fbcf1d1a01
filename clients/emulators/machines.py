"""Emulated machines: processors, the classes that they run, and the commands that run Python on them."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from emulators.sysroots import PYTHON

CHECKOUT = Path(__file__).resolve().parents[2]
ROOTS = Path(os.environ.get("SARDONYX_SYSROOTS", CHECKOUT / "build" / "emulators"))
TIMEOUT = 3000  # seconds


@dataclass(frozen=True)
class Machine:
    """An emulated machine.

    architecture: as Linux names it; "" for this machine, without emulation.  cpu: QEMU's description of the processor.
    classes: of the programs that it runs, its own first.
    """

    architecture: str
    cpu: str
    classes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.architecture}-{self.cpu}"

    def run_python(self, cache: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs Python with the sources of this checkout; cache: the cache folder of Sardonyx."""
        variables = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CHECKOUT / "src"),
            "SARDONYX_CACHE": str(cache),
            **environment,
        }
        command = [sys.executable]
        if self.architecture:
            command = [str(ROOTS / "qemu/usr/bin" / f"qemu-{self.architecture}"), "-cpu", self.cpu]
            command.append(str(ROOTS / self.architecture / "usr/bin" / f"python{PYTHON}"))
            variables |= self.root_variables(variables["PYTHONPATH"])
        return subprocess.run(
            [*command, *words], env=variables, capture_output=True, text=True, timeout=TIMEOUT, check=False
        )

    def root_variables(self, path: str) -> dict[str, str]:
        """Where Python and its libraries are for this architecture."""
        root = ROOTS / self.architecture
        libraries = root / "usr" / "lib" / f"{self.architecture}-linux-gnu"
        return {
            "QEMU_LD_PREFIX": str(root),
            "LD_LIBRARY_PATH": ":".join(str(libraries / name) for name in ("", "blas", "lapack")),
            "PYTHONHOME": str(root / "usr"),
            "PYTHONPATH": f"{path}:{root / 'site'}",
            "PYTHONDONTWRITEBYTECODE": "",
        }


HOST = Machine("", "", ("x86-64-v3",))  # whose bits the others must have
MACHINES = (
    Machine("aarch64", "cortex-a72", ("aarch64",)),  # without dot products
    Machine("aarch64", "neoverse-n1", ("aarch64-dotprod",)),
    Machine("aarch64", "max", ("aarch64-i8mm",)),
    Machine("riscv64", "rv64,v=false", ("riscv64",)),
    Machine("riscv64", "rv64,v=true,vlen=128", ("riscv64-v", "riscv64")),
    Machine("riscv64", "rv64,v=true,vlen=256", ("riscv64-v",)),
)
