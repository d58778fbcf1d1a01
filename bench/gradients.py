"""How far are gradients from those of PyTorch's autograd?

Each operator that both have is differentiated in float64, by `sx.gradient` and by PyTorch, with respect to all of its floating-point inputs, which
are drawn with a seed; the gradient of the result is drawn, too.  Writes docs/generated/torch_gradients.md.  Needs the group `bench-torch`.

python bench/gradients.py
python bench/gradients.py --only Conv   # writes nothing
"""

from __future__ import annotations

import argparse
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

import sardonyx as sx
from gradient_peers import GradientPeer
from gradient_peers_networks import PEERS
from sardonyx._src.ir import Array
from sardonyx._src.runtime.session.session import Engine
from sardonyx._src.schema import latest, lookup

PAGE = Path(__file__).resolve().parents[1] / "docs/generated/torch_gradients.md"
INPUT = re.compile(r"double(?:\[([^\]]*)\])? (\w+)")
TOLERANCE = 1e-14
HEAD = f"""# Gradients beside PyTorch's

Written by `bench/gradients.py`, with PyTorch %s.  Each operator is differentiated in float64, by `sx.gradient` and by PyTorch's autograd, with respect to
all of its floating-point inputs; inputs and the gradient of the result are drawn with a seed.  The difference is the largest one of an element, of the result or of a gradient, over the largest element
of the tensor, on the reference engine and on the native one; the tolerance is {TOLERANCE}.  [gradients.md](gradients.md) has all operators, and the cases that are compared with central differences.

%s cases of %s operators: %s.

| operator | cases | gradients | difference, reference | difference, native |
|---|---|---|---|---|
"""


def draw_feeds(peer: GradientPeer) -> dict[str, Array]:
    """Seeded values of all inputs by name."""
    draw = np.random.default_rng(zlib.crc32(f"{peer.inputs} {peer.body}".encode()))
    feeds: dict[str, Array] = {}
    for sizes, name in INPUT.findall(peer.inputs):
        shape = [int(size) for size in sizes.split(",") if size]
        feeds[name] = draw.uniform(0.2, 0.9, shape) if name[0] == "p" else draw.standard_normal(shape)
    return feeds


def torch_gradients(peer: GradientPeer, feeds: Mapping[str, Array]) -> tuple[Array, list[Array]]:
    """The gradient that the result is given, and the result followed by the gradients of the inputs."""
    inputs = [torch.tensor(x, requires_grad=True) for x in feeds.values()]
    y = peer.function(*inputs)
    weight = np.random.default_rng(1).standard_normal(tuple(y.shape))
    y.backward(torch.tensor(weight))
    gradients = [torch.zeros_like(x) if x.grad is None else x.grad for x in inputs]
    return weight, [y.detach().numpy(), *(gradient.numpy() for gradient in gradients)]


def own_gradients(
    peer: GradientPeer, feeds: Mapping[str, Array], weight: Array, engine: Engine
) -> list[Array]:
    """The result of the operator, and the gradients of the inputs."""
    sizes = ",".join(map(str, weight.shape))
    text = (
        f'<ir_version: 10, opset_import: ["": {latest("")}]> g ({peer.inputs}, double[{sizes}] weight) '
        f"=> (double[{sizes}] y, double[{sizes}] target) {{ {peer.body} target = Mul(y, weight) }}"
    )
    model = sx.gradient(sx.from_text(text), "target", list(feeds))
    results = sx.Session(model, engine=engine).run({**feeds, "weight": weight})
    return [np.asarray(results[name]) for name in ("y", *(f"{name}_gradient" for name in feeds))]


def difference(peer: GradientPeer, engine: Engine) -> float:
    """The largest difference from PyTorch, relative to the largest element of each tensor."""
    feeds = draw_feeds(peer)
    weight, expected = torch_gradients(peer, feeds)
    pairs = zip(own_gradients(peer, feeds, weight, engine), expected, strict=True)
    return max(relative_difference(own, exact) for own, exact in pairs)


def relative_difference(own: Array, exact: Array) -> float:
    """The largest difference of an element over the largest element; infinite if shapes differ."""
    if own.shape != exact.shape:
        return float("inf")
    return float(np.abs(own - exact).max() / max(np.abs(exact).max(), np.finfo(np.float64).tiny))


def row(name: str, peers: Sequence[GradientPeer], differences: Sequence[tuple[float, float]]) -> str:
    version = lookup("", name, latest(""))
    assert version is not None, f"{name} is an operator"
    count = sum(len(INPUT.findall(peer.inputs)) for peer in peers)
    worst = " | ".join(f"{max(column):.0e}" for column in zip(*differences, strict=True))
    return f"| {name}-{version.since_version} | {len(peers)} | {count} | {worst} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a part of the names of operators; writes nothing")
    args = parser.parse_args()
    rows, failures, total = [], [], 0
    for name in sorted({peer.operator for peer in PEERS if args.only in peer.operator}):
        peers = [peer for peer in PEERS if peer.operator == name]
        differences = [(difference(peer, "reference"), difference(peer, "native")) for peer in peers]
        rows.append(row(name, peers, differences))
        print(rows[-1], file=sys.stderr, flush=True)
        total += len(peers)
        failures += [
            f"{peer.body} of {peer.inputs}: {pair}"
            for peer, pair in zip(peers, differences, strict=True)
            if not max(pair) <= TOLERANCE
        ]
    print(*failures, sep="\n")
    if not args.only:
        verdict = f"{len(failures)} differ by more" if failures else "none differs by more"
        head = HEAD % (torch.__version__.split("+")[0], total, len(rows), verdict)
        PAGE.write_text(head + "\n".join(rows) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
