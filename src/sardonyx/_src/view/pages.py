"""`view`: a model as a page, for notebooks, files and browsers."""

from __future__ import annotations

import html
import os
import sys
import threading
import webbrowser
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.arguments import (
    require_flag,
    require_integer,
    require_mapping,
    require_number,
    require_path,
    require_text,
)
from sardonyx._src.check.driver.sources import DocumentKind, Source
from sardonyx._src.errors import InputError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.external.opening import policy_of
from sardonyx._src.io.loading.environment import sources_of
from sardonyx._src.io.loading.load import PathSource
from sardonyx._src.io.loading.operator_sets import OperatorSetSource
from sardonyx._src.view.documents import ReadingOptions, open_document, page_of
from sardonyx._src.view.graph_labels import find_graph
from sardonyx._src.view.html import assemble_page
from sardonyx._src.view.page_data import PageData
from sardonyx._src.view.reading.documents import ReadDocument
from sardonyx._src.view.reading.inference import build_model

if TYPE_CHECKING:
    from sardonyx._src.measure.compare.models import ModelComparison
    from sardonyx._src.view.quantization_errors import ReportSource

FRAME_HEIGHT = 640  # pixels of a page in a notebook
MIN_SCALE, MAX_SCALE = 0.1, 10.0


class Page:
    """A page that shows one model, or the difference between two.

    A notebook shows it as the result of a cell; `save` writes it to a file, and `serve` shows it in a browser.
    """

    def __init__(self, documents: Sequence[ReadDocument], data: PageData) -> None:
        self.documents = documents
        self.data = data

    @property
    def html(self) -> str:
        """The page as one HTML document, which needs no network."""
        return assemble_page(self.data)

    def save(self, path: PathSource) -> None:
        """Writes the page to a file.  Raises OSError where it cannot be written."""
        require_path("path", path)
        Path(path).write_text(self.html, "utf-8")

    def svg(self, *, dark: bool = False, graph: str = "main") -> str:
        """A graph as a picture in SVG, for papers and reviews; of a page with two models, a graph of the second.

        graph: the main graph, or another one: a function by `domain.name`, a nested graph by node and attribute, as in
        `loop.body`, or either by its own name.  Repetitions, and scopes with many boxes, are folded.

        Raises MissingPackage without the extra `view`, and InputError for a graph that the model lacks.
        """
        from sardonyx._src.view.drawings import draw_svg  # lazy: few pages are drawn here

        require_flag("dark", dark)
        require_text("graph", graph)
        return draw_svg(self.data, dark=dark, graph=find_graph(self.data["documents"][-1], graph))

    def png(self, *, dark: bool = False, scale: float = 2.0, graph: str = "main") -> bytes:
        """The picture of `svg` as PNG, with `scale` pixels for each unit: 2 is as sharp as a screen of high resolution.

        Raises MissingPackage without the extra `view`, and InputError for a graph that the model lacks and for a scale that
        is not from 0.1 to 10.
        """
        from sardonyx._src.view.drawings import draw_png  # lazy: few pages are drawn here

        require_number("scale", scale)
        if not MIN_SCALE <= scale <= MAX_SCALE:
            raise InputError(f"scale must be from {MIN_SCALE} to {MAX_SCALE}; got {scale}", name="scale")
        return draw_png(self.svg(dark=dark, graph=graph), scale)

    def serve(self, *, browser: bool = True) -> None:
        """Shows the page until it is interrupted (Ctrl-C), from a server that only this machine reaches.

        browser: whether a browser is opened; the address is printed in any case.  A served page can also request statistics
        of large weights, weights as `.npy` files, and parts of the model as models.
        """
        from sardonyx._src.view.server import PageServer, ServedDocument  # lazy: files need no server

        require_flag("browser", browser)
        with PageServer(
            self.data, [ServedDocument(d, partial(build_model, d)) for d in self.documents]
        ) as server:
            sys.stdout.write(f"{server.address} shows {self.data['title']!r}; Ctrl-C ends\n")
            sys.stdout.flush()
            if browser:
                # In a thread: a text browser blocks until it ends, and needs the server meanwhile.
                threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                return

    def _repr_html_(self) -> str:
        """The page in a sandboxed frame, which can run the viewer and nothing else."""
        return (
            f'<iframe sandbox="allow-scripts allow-downloads" style="width:100%;height:{FRAME_HEIGHT}px;border:0"'
            f' srcdoc="{html.escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Page of {self.data['title']!r}>"


def view(
    source: Source,
    other: Source | None = None,
    *,
    title: str = "",
    kind: DocumentKind | None = None,
    weights: bool = False,
    profile: bool | PathSource = False,
    report: ReportSource | None = None,
    feeds: Mapping[str, object] | None = None,
    dims: Mapping[str, int] | None = None,
    seed: int = 0,
    policy: Policy | str = Policy.HUB,
    operator_sets: Iterable[OperatorSetSource] = (),
    verify_checksums: bool = True,
) -> Page:
    """The page of a model, an operator-set document or stored data, or of the difference of two models; notebooks show it.

    source, other: a path, bytes, a file object, a record or a model, valid or not: findings are shown where they belong.
    title: by default the names of the files.
    kind: as for `check`.
    weights: whether the page contains the elements of all weights, so that they can be stored from it as `.npy` files.
    profile: whether the model runs on the native engine, so that the page shows the time of its nodes and the memory of the
        run; or a file that `sardonyx profile --json` has written.
    report: of a quantization, or the path of a file that `sardonyx quantize --json` has written; the page shows the errors of
        layers as colors.  The model is the quantized one or the original.
    feeds: the inputs of runs.  With `other`, both models run on them, and the page shows the errors of values.  Missing inputs
        are random, with `seed` and the lengths `dims` of dimension variables; `feeds={}` makes all of them random.
    policy, operator_sets, verify_checksums: as for `load`.

    Raises OSError for a file that cannot be read, InvalidModel for a folder, an empty file and a record with a value that its
    field cannot hold, InputError for an unknown kind or policy and for wrong feeds, what a session with engine="native" raises
    for a profile, and TypeError for any other source.
    """
    require_text("title", title)
    require_flag("weights", weights)
    require_mapping("feeds", {} if feeds is None else feeds, str, object, "names of inputs to values")
    require_mapping("dims", {} if dims is None else dims, str, (int, np.integer), "names of dims to lengths")
    require_integer("seed", seed, 0)
    if not isinstance(profile, bool):
        require_path("profile", profile)
    if report is not None and not is_report(report):
        require_path("report", report)
    if feeds is not None and other is None and profile is not True:
        raise InputError("feeds requires a second model or a profile; got neither", name="feeds")
    require_flag("verify_checksums", verify_checksums)
    options = ReadingOptions(weights, policy_of(policy), sources_of(operator_sets), verify_checksums)
    opened = [open_document(each, kind, options) for each in (source, other) if each is not None]
    for document in opened:
        add_profile(document, profile, feeds or {}, dims or {}, seed)
        add_report(document, report)
    data = page_of([document.data for document in opened], title)
    if len(opened) == 2:
        from sardonyx._src.view.difference import compare_documents  # lazy: only for two models

        runs = None if feeds is None else run_both(opened[0], opened[1], feeds, dims, seed)
        data["difference"] = compare_documents(opened[0], opened[1], runs)
    return Page(opened, data)


def add_profile(
    document: ReadDocument,
    profile: bool | PathSource,
    feeds: Mapping[str, object],
    dims: Mapping[str, int],
    seed: int,
) -> None:
    """Adds the profile of a run, or a stored profile, to a document if one is requested."""
    if profile is False:
        return
    from sardonyx._src.view.profiles import profile_document, read_stored_profile  # lazy: loads the compiler

    if not isinstance(profile, bool):
        document.data["profile"] = read_stored_profile(document, profile)
    else:
        document.data["profile"] = profile_document(document, feeds, dims, seed)


def is_report(report: object) -> bool:
    """Whether this is a report of sx.quantize, which then has been imported."""
    module = sys.modules.get("sardonyx._src.quantize.report.report")
    return module is not None and isinstance(report, module.QuantizationReport)


def add_report(document: ReadDocument, report: ReportSource | None) -> None:
    """Adds the errors of a quantization to a document if they are requested."""
    if report is None:
        return
    from sardonyx._src.view.quantization_errors import quantization_errors  # lazy: loads the compiler

    document.data["quantization"] = quantization_errors(document, report)


def run_both(
    before: ReadDocument,
    after: ReadDocument,
    feeds: Mapping[str, object],
    dims: Mapping[str, int] | None,
    seed: int,
) -> ModelComparison:
    """The errors of the values of two models for the same inputs."""
    from sardonyx._src.measure.compare.models import compare  # lazy: loads the compiler

    return compare(build_model(before), build_model(after), feeds, seed=seed, dims=dims)


def file_title(path: str) -> str:
    return "standard input" if path == "-" else os.path.basename(path)
