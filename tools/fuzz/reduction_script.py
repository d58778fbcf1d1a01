"""A failing case as a script that needs no generator: the model as text, feeds, and the comparison of both engines."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from compile.unkind_agreement import Runs
from sardonyx._src.ir import Array
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import values

COMPARISON = """
def run(session, feed):
    try:
        return {name: np.asarray(value) for name, value in session.run(feed).items()}
    except sx.SardonyxError as error:
        return type(error).__name__

def is_close(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and a == b
    return all(a[n].shape == b[n].shape and np.allclose(a[n], b[n], 1e-4, 1e-4 * np.abs(b[n]).max(initial=1), equal_nan=True) for n in b)

bad = False
reference = sx.Session(model, engine="reference")
for threads in (1, 2):
    session = sx.Session(model, engine="native", threads=threads)
    for i in order:
        actual, expected = run(session, {k: v.copy() for k, v in feeds[i].items()}), run(reference, feeds[i])
        if not is_close(actual, expected):
            bad = True
            print("threads", threads, "feeds", i, "native", actual, "reference", expected)
sys.exit(bad)
"""


def script_of(runs: Runs, title: str) -> str:
    """The text of a script that exits with 1 while the engines differ."""
    model = clone(runs.model)
    model.producer_name = ""
    for value in values(model.graph):
        if value.producer is not None and not value.is_graph_output:
            value.type = None
    feeds = ",\n".join(
        f"    {{{', '.join(f'{k!r}: {literal(a)}' for k, a in feed.items())}}}" for feed in runs.feeds
    )
    return (
        f"# {' '.join(title.split())}\nimport sys, warnings\nimport numpy as np\nimport sardonyx as sx\n\n"
        f"warnings.simplefilter('ignore')\n"
        f"model = sx.from_text(r'''\n{sx.to_text(model)}\n''')\nfeeds = [\n{feeds},\n]\norder = {[*runs.order()]}\n{COMPARISON}"
    )


def literal(array: Array) -> str:
    """A short expression for an array."""
    dtype = f"'{array.dtype.str[1:]}'" if array.dtype != np.bool_ else "bool"
    if array.size > 1 and (array == array.flat[0]).all():
        return f"np.full({array.shape}, {array.flat[0].item()}, {dtype})"
    text = f"np.array({array.reshape(-1).tolist()}, {dtype})"
    return text if array.ndim == 1 else f"{text}.reshape({array.shape})"
