"""Modules and names of onnxruntime that do not exist here: the errors say what to use instead."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

PACKAGE = "onnxruntime"
WITHOUT_INSTALL = (
    "it writes files and needs no session: do that in a process that has not called sardonyx.compat.install()"
)
MODULES = {
    "backend": "use sardonyx.backend, which has the interface of onnx.backend",
    "datasets": "its models are files of the package onnxruntime",
    "quantization": WITHOUT_INSTALL,
    "tools": f"{WITHOUT_INSTALL}, or see sardonyx.tools, sardonyx.infer and sardonyx.optimize",
    "transformers": f"{WITHOUT_INSTALL}, or see sardonyx.optimize",
}
DEVICES = "sessions run on the processor: leave devices out, or ask get_available_providers()"
LORA = "merge the adapter into the model's weights with `sardonyx merge-adapters`"
NAMES = {
    "AdapterFormat": LORA,
    "LoraAdapter": LORA,
    "ModelCompiler": "use sardonyx.tools.compile",
    "OrtArenaCfg": "sessions have no arenas",
    "OrtMemoryInfo": DEVICES,
    "SparseTensor": "feed dense tensors",
    "copy_tensors": "all OrtValues are in the memory of this process: use OrtValue.update_inplace",
    "create_and_register_allocator": "sessions share no allocators",
    "create_and_register_allocator_v2": "sessions share no allocators",
    "get_ep_devices": DEVICES,
    "OrtEpDevice": DEVICES,
    "OrtExecutionProviderDevicePolicy": DEVICES,
    "OrtHardwareDevice": DEVICES,
    "OrtHardwareDeviceType": DEVICES,
    "register_execution_provider_library": DEVICES,
    "unregister_execution_provider_library": DEVICES,
    **dict.fromkeys(
        ("quantize_matmul_2bits", "quantize_matmul_4bits", "quantize_matmul_8bits", "quantize_matmul_bnb4"),
        WITHOUT_INSTALL,
    ),
}


def missing_name(module: str, name: str) -> AttributeError:
    """The error for a name that a module lacks, so that `hasattr` is False."""
    cure = NAMES.get(name)
    return AttributeError(
        f"module {module!r} has no attribute {name!r}" + (f": {cure}" if cure else ""), name=name
    )


class MissingModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """An import finder for modules that do not exist here, which raises ModuleNotFoundError at their import.

    It is asked after all other finders.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, rest = fullname.partition(".")
        if package != PACKAGE or rest.partition(".")[0] not in MODULES:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        cure = MODULES[spec.name.split(".")[1]]
        raise ModuleNotFoundError(f"sardonyx.compat has no module {spec.name!r}: {cure}", name=spec.name)

    def exec_module(self, module: ModuleType) -> None:
        raise AssertionError("no module was created")


def explain_missing_modules() -> None:
    """Registers the finder once."""
    if not any(isinstance(finder, MissingModules) for finder in sys.meta_path):
        sys.meta_path.append(MissingModules())
