"""Model repositories: the models of a folder, which are opened, warmed up, served, and replaced while they serve."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.serve.models.model_config import ModelConfig, read_config
from sardonyx._src.serve.models.model_files import ModelFiles, scan_repository, stamps_of
from sardonyx._src.serve.models.opening import open_model
from sardonyx._src.serve.models.served_model import ServedModel
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.suggestions import did_you_mean

State = Literal["READY", "LOADING", "UNAVAILABLE"]
Scan = Callable[[], Mapping[str, ModelFiles]]
LOG = logging.getLogger("sardonyx.serve")


@dataclass(slots=True)
class VersionEntry:
    """One version of a model in the index.

    reason: why the version is unavailable, or why its last replacement failed.
    served: the open model; None if there is none.
    stamps: the stamps of the files from which `served` was opened.
    statistics: the statistics of all requests, including those before a replacement.
    """

    state: State = "LOADING"
    reason: str = ""
    served: ServedModel | None = None
    stamps: tuple[FileStamp, ...] = ()
    statistics: ModelStatistics = field(default_factory=ModelStatistics)


@dataclass(slots=True)
class ModelEntry:
    """A model in the index.  problem: the reason why it has no versions."""

    versions: dict[str, VersionEntry] = field(default_factory=dict)
    problem: str = ""
    is_unloaded: bool = False  # whether a client has unloaded it: a scan of the folder must not load it again


@dataclass(frozen=True, slots=True)
class IndexRow:
    """A line of the repository index, as the protocol lists it."""

    name: str
    version: str
    state: State
    reason: str


class ModelRepository:
    """The models of a folder.  All methods are called on one event loop; models are opened in threads.

    Models are looked up by name in the index of a scan of the folder; no path is ever made from a request.
    """

    def __init__(self, scan: Scan, defaults: ModelConfig | None = None) -> None:
        """scan: lists the files; called in threads.  defaults: the configuration of a model, as far as its config.json states none."""
        self._scan, self._defaults = scan, defaults or ModelConfig()
        self._entries: dict[str, ModelEntry] = {}
        self._routes: dict[tuple[str, str], ServedModel] = {}  # by name and version; "" is the newest one
        self.changes = 0  # number of changes of the table of routes so far
        self._loading = asyncio.Lock()  # one scan or load at a time
        self._is_complete, self._is_closed = False, False

    @classmethod
    def of_folder(cls, folder: Path, defaults: ModelConfig | None = None) -> ModelRepository:
        """The repository in a folder."""
        return cls(lambda: scan_repository(folder), defaults)

    def find(self, name: str, version: str = "") -> ServedModel:
        """The open model that serves a request; without a version, the newest one that is ready.

        Raises RequestFailure: NOT_FOUND, or UNAVAILABLE for a model in the index that is not ready.
        """
        model = self._routes.get((name, version))
        if model is None:
            raise self._failure_to_find(name, version)
        return model

    def _failure_to_find(self, name: str, version: str) -> RequestFailure:
        entry = self._entries.get(name)
        if entry is None:
            return RequestFailure(
                FailureKind.NOT_FOUND, f"there is no model {name!r}{did_you_mean(name, self._entries)}"
            )
        what = f"model {name!r}" + (f" version {version!r}" if version else "")
        if version and version not in entry.versions:
            known = ", ".join(entry.versions) or "none"
            return RequestFailure(FailureKind.NOT_FOUND, f"{what} does not exist; the versions are {known}")
        states = [entry.versions[version]] if version else list(entry.versions.values())
        reason = entry.problem or next((state.reason for state in states if state.reason), "")
        is_loading = any(state.state == "LOADING" for state in states)
        reason = reason or ("it is loading" if is_loading else "it is not loaded")
        return RequestFailure(FailureKind.UNAVAILABLE, f"{what} is not ready: {reason}")

    @property
    def is_ready(self) -> bool:
        """Whether the first scan is complete, and every model is available except those that clients have unloaded."""
        return (
            self._is_complete
            and not self._is_closed
            and all(
                entry.is_unloaded
                or (not entry.problem and all(v.served is not None for v in entry.versions.values()))
                for entry in self._entries.values()
            )
        )

    def versions(self, name: str) -> list[str]:
        """The versions of a model that are ready, in ascending order."""
        entry = self._entries.get(name, ModelEntry())
        return [version for version, state in entry.versions.items() if state.served is not None]

    def index(self, *, ready_only: bool = False) -> Iterator[IndexRow]:
        """A row for each version of each model; a model without versions has one row with an empty version."""
        for name, entry in self._entries.items():
            if not entry.versions and not ready_only:
                yield IndexRow(name, "", "UNAVAILABLE", entry.problem or "unloaded")
            for version, state in entry.versions.items():
                if state.state == "READY" or not ready_only:
                    yield IndexRow(name, version, state.state, state.reason)

    def states(self) -> Iterator[tuple[str, str, VersionEntry]]:
        """Name, number and state of every version."""
        for name, entry in self._entries.items():
            for version, state in entry.versions.items():
                yield name, version, state

    async def load_all(self) -> None:
        """Loads the models of the folder one after the other; for a model that fails, the index states the reason."""
        async with self._loading:
            for files in (await asyncio.to_thread(self._scan)).values():
                if not self._entries.get(files.name, ModelEntry()).is_unloaded:
                    await self._load(files)
            self._is_complete = True

    async def refresh(self) -> None:
        """Loads models that are new or have changed in the folder, and unloads models that are no longer in it."""
        async with self._loading:
            models = await asyncio.to_thread(self._scan)
            for name in self._entries.keys() - models.keys():
                self._drop(name)
                del self._entries[name]
            for name, files in models.items():
                if not self._entries.get(name, ModelEntry()).is_unloaded:
                    await self._load(files)

    async def load(self, name: str) -> None:
        """Loads a model of the folder; versions with unchanged files stay as they are.

        A version in service is replaced when the new one is warm, and closed when its last request has ended.
        Raises RequestFailure: NOT_FOUND, or UNAVAILABLE with the reason why a version cannot be loaded.
        """
        async with self._loading:
            files = (await asyncio.to_thread(self._scan)).get(name)
            if files is None:
                if name not in self._entries:
                    raise self._failure_to_find(name, "")
                raise RequestFailure(FailureKind.NOT_FOUND, f"the files of model {name!r} no longer exist")
            await self._load(files)
            entry = self._entries[name]
            reasons = [entry.problem, *(v.reason for v in entry.versions.values())]
            if reason := next(filter(None, reasons), ""):
                raise RequestFailure(FailureKind.UNAVAILABLE, f"model {name!r} cannot be loaded: {reason}")

    async def unload(self, name: str) -> None:
        """Ends the service of a model; requests that have begun complete.  Raises RequestFailure (NOT_FOUND)."""
        async with self._loading:
            if name not in self._entries:
                raise self._failure_to_find(name, "")
            self._drop(name)
            self._entries[name] = ModelEntry(is_unloaded=True)

    def begin_shutdown(self) -> None:
        """Reports that the service is not ready, while its models still serve."""
        self._is_closed = True

    async def close(self) -> None:
        """Retires all models; requests that have begun complete."""
        async with self._loading:
            self._is_closed = True
            for name in self._entries:
                self._drop(name)

    async def _load(self, files: ModelFiles) -> None:
        """Updates the entry of a model to its files."""
        entry = self._entries.setdefault(files.name, ModelEntry())
        entry.is_unloaded, entry.problem = False, files.problem
        try:
            config = await asyncio.to_thread(self._read_config, files)
            selected = {} if files.problem else select_versions(files, config)
        except (SardonyxError, OSError) as error:
            entry.problem = str(error)
            return
        if not entry.problem:
            entry.versions = {v: entry.versions.get(v, VersionEntry()) for v in selected} | {
                v: state for v, state in entry.versions.items() if v not in selected
            }
            for version, path in selected.items():
                await self._load_version(files, version, path, config)
            self._retire_others(files.name, selected.keys())

    def _read_config(self, files: ModelFiles) -> ModelConfig:
        return self._defaults if files.config is None else read_config(files.config, self._defaults)

    async def _load_version(self, files: ModelFiles, version: str, path: Path, config: ModelConfig) -> None:
        """Opens a version unless its files are unchanged, and replaces the open model that serves the version."""
        state = self._entries[files.name].versions[version]
        try:
            stamps = await asyncio.to_thread(stamps_of, path, files.config)
            if state.served is not None and stamps == state.stamps:
                state.reason = ""
                return
            served = await asyncio.to_thread(open_model, files.name, version, path, config, state.statistics)
        except Exception as error:  # no error that a file causes may end the service
            is_known = isinstance(error, SardonyxError | OSError)
            LOG.error("model %s version %s: %s", files.name, version, error, exc_info=not is_known)
            state.reason = str(error) or type(error).__name__
            state.state = "UNAVAILABLE" if state.served is None else "READY"
            return
        previous, state.served = state.served, served
        state.state, state.reason, state.stamps = "READY", "", stamps
        self._route(files.name)
        LOG.info("model %s version %s is ready", files.name, version)
        if previous is not None:
            previous.retire()

    def _retire_others(self, name: str, selected: Collection[str]) -> None:
        """Retires the versions that are no longer selected, once one of the selected versions serves."""
        versions = self._entries[name].versions
        others = [version for version in versions if version not in selected]
        if others and not any(versions[v].served for v in selected):
            return  # old versions serve until a new one does
        states = [versions.pop(version) for version in others]
        self._entries[name].versions = dict(sorted(versions.items(), key=lambda item: int(item[0])))
        self._route(name)
        for state in states:
            if state.served is not None:
                state.served.retire()

    def _route(self, name: str) -> None:
        """Updates all routes to a model in one assignment, so that no request sees a part of the change."""
        entry = self._entries[name]
        ready = {v: s.served for v, s in entry.versions.items() if s.served is not None}
        routes = {key: model for key, model in self._routes.items() if key[0] != name}
        routes |= {(name, version): model for version, model in ready.items()}
        if ready:
            routes[name, ""] = ready[max(ready, key=int)]
        self._routes = routes
        self.changes += 1

    def _drop(self, name: str) -> None:
        """Retires all versions of a model."""
        states, self._entries[name].versions = self._entries[name].versions, {}
        self._route(name)
        for state in states.values():
            if state.served is not None:
                state.served.retire()


def select_versions(files: ModelFiles, config: ModelConfig) -> dict[str, Path]:
    """The files of the versions that the configuration selects, by version number as text."""
    match config.versions:
        case "latest":
            chosen = [max(files.versions)]
        case "all":
            chosen = sorted(files.versions)
        case numbers:
            chosen = [number for number in numbers if number in files.versions]
    if not chosen:
        known = ", ".join(map(str, files.versions))
        raise RequestFailure(
            FailureKind.UNAVAILABLE, f"versions must name some of {known}; got {config.versions}"
        )
    return {str(number): files.versions[number] for number in chosen}
