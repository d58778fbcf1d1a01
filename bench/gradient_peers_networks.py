"""Operators of networks as graphs and as functions of PyTorch, whose gradients are compared: windows, norms, losses, recurrence."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional

from gradient_peers import (
    IMAGE,
    ROWS,
    Function,
    GradientPeer,
    binary,
    call,
    elementwise,
    indexing,
    products,
    reductions,
    shapes,
)

EPSILON, ATTRIBUTE = 2.0**-16, "epsilon = 0.0000152587890625"  # exact in float32
LABELS = "int64[3] t = {3, 1, 0}"


def windows() -> Iterator[GradientPeer]:
    for text, arguments in (
        ("strides = [2, 1]", {"stride": (2, 1)}),
        ("pads = [1, 2, 1, 2]", {"padding": (1, 2)}),
        ("dilations = [1, 2], pads = [1, 1, 1, 1]", {"dilation": (1, 2), "padding": 1}),
    ):
        conv: Function = lambda x, w, b=None, more=arguments: functional.conv2d(x, w, b, **more)  # noqa: E731
        grouped: Function = lambda x, w, more=arguments: functional.conv2d(x, w, groups=2, **more)  # noqa: E731
        deep: Function = lambda x, w, more=arguments: functional.conv2d(x, w, groups=4, **more)  # noqa: E731
        back: Function = lambda x, w, b, more=arguments: functional.conv_transpose2d(x, w, b, **more)  # noqa: E731
        yield call("Conv", f"{IMAGE}, double[5,4,3,3] w, double[5] b", conv, text)
        yield call("Conv", f"{IMAGE}, double[6,2,3,3] w", grouped, f"group = 2, {text}")
        yield call("Conv", f"{IMAGE}, double[4,1,3,3] w", deep, f"group = 4, {text}")
        yield call("ConvTranspose", f"{IMAGE}, double[4,5,3,3] w, double[5] b", back, text)
    yield call("Conv", "double[2,3,9] x, double[4,3,3] w", functional.conv1d)
    yield call("Conv", "double[2,2,4,5,4] x, double[3,2,2,2,2] w", functional.conv3d)
    sizes = "kernel_shape = [2, 3], strides = [2, 1], pads = [1, 1, 1, 1]"
    for name, function in (("Max", functional.max_pool2d), ("Average", functional.avg_pool2d)):
        pool: Function = lambda x, function=function: function(x, (2, 3), (2, 1), 1)  # noqa: E731
        counted = ", count_include_pad = 1" if name == "Average" else ""
        yield call(f"{name}Pool", IMAGE, pool, sizes + counted)
    yield call(
        "LpPool",
        "double[1,2,4,6] p",
        lambda p: functional.lp_pool2d(p, 3, (2, 2), (2, 2)),
        "p = 3, kernel_shape = [2, 2], strides = [2, 2]",
    )
    yield call("GlobalAveragePool", IMAGE, lambda x: x.mean((2, 3), keepdim=True))
    yield call("GlobalMaxPool", IMAGE, lambda x: x.amax((2, 3), keepdim=True))
    yield call("GlobalLpPool", IMAGE, lambda x: torch.linalg.vector_norm(x, dim=(2, 3), keepdim=True))
    yield call(
        "Col2Im",
        "double[2,12,24] x",
        lambda x: functional.fold(x, (5, 5), (2, 2), padding=(1, 0)),
        "pads = [1, 0, 1, 0]",
        "ints i = [5, 5]; ints b = [2, 2]",
    )


def norms() -> Iterator[GradientPeer]:
    yield call("Softmax", "double[2,3,4] x", lambda x: torch.softmax(x, 1), "axis = 1")
    yield call("LogSoftmax", "double[2,3,4] x", lambda x: torch.log_softmax(x, 1), "axis = 1")
    yield call("LpNormalization", ROWS, lambda x: functional.normalize(x, 2.0, 1), "axis = 1")
    rows = "double[2,3,4] x, double[4] s, double[4] b"
    layer: Function = lambda x, s, b: functional.layer_norm(x, (4,), s, b, EPSILON)  # noqa: E731
    yield call("LayerNormalization", rows, layer, f"stash_type = 11, {ATTRIBUTE}")
    rms: Function = lambda x, s: functional.rms_norm(x, (4,), s, EPSILON)  # noqa: E731
    yield call("RMSNormalization", "double[2,3,4] x, double[4] s", rms, f"stash_type = 11, {ATTRIBUTE}")
    channels = "double[2,4,5] x, double[4] s, double[4] b"
    yield call(
        "InstanceNormalization",
        channels,
        lambda x, s, b: functional.instance_norm(x, None, None, s, b, eps=EPSILON),
        ATTRIBUTE,
    )
    groups: Function = lambda x, s, b: functional.group_norm(x, 2, s, b, EPSILON)  # noqa: E731
    yield call("GroupNormalization", channels, groups, f"num_groups = 2, stash_type = 11, {ATTRIBUTE}")
    yield call(
        "BatchNormalization",
        f"{channels}, double[4] m, double[4] p",
        lambda x, s, b, m, p: (x - m[:, None]) / (p[:, None] + EPSILON).sqrt() * s[:, None] + b[:, None],
        ATTRIBUTE,
    )
    yield GradientPeer(
        "BatchNormalization",
        channels,
        "m = Constant<value = double[4] {1, 2, 3, 4}>() "
        f"y, mm, vv = BatchNormalization<training_mode = 1, {ATTRIBUTE}>(x, s, b, m, m)",
        lambda x, s, b: functional.batch_norm(x, None, None, s, b, training=True, eps=EPSILON),
    )
    lrn: Function = lambda x: functional.local_response_norm(x, 3, 0.5, 0.75, 1.5)  # noqa: E731
    yield call("LRN", IMAGE, lrn, "size = 3, alpha = 0.5, beta = 0.75, bias = 1.5")


def losses() -> Iterator[GradientPeer]:
    labels = torch.tensor([3, 1, 0])
    for name, function in (
        ("SoftmaxCrossEntropyLoss", functional.cross_entropy),
        ("NegativeLogLikelihoodLoss", functional.nll_loss),
    ):
        plain: Function = lambda x, function=function: function(x, labels)  # noqa: E731
        ignored: Function = lambda x, function=function: function(x, labels, ignore_index=1, reduction="sum")  # noqa: E731
        yield call(name, ROWS, plain, more=LABELS)
        yield call(name, ROWS, ignored, 'ignore_index = 1, reduction = "sum"', LABELS)


def images() -> Iterator[GradientPeer]:
    for mode, of_torch, more in (("linear", "bilinear", ""), ("cubic", "bicubic", ", cubic_coeff_a = -0.75")):
        for align in (False, True):
            resize: Function = lambda x, mode=of_torch, align=align: functional.interpolate(  # noqa: E731
                x, size=(7, 3), mode=mode, align_corners=align
            )
            coordinates = "align_corners" if align else "half_pixel"
            attributes = f'mode = "{mode}", coordinate_transformation_mode = "{coordinates}"{more}'
            body = f"s = Constant<value_ints = [7, 3]>() y = Resize<{attributes}, axes = [2, 3]>(x, , , s)"
            yield GradientPeer("Resize", "double[1,2,4,5] x", body, resize)
    for mode, of_torch in (("linear", "bilinear"), ("cubic", "bicubic")):
        for padding in ("zeros", "border", "reflection"):
            sample: Function = lambda x, grid, mode=of_torch, padding=padding: functional.grid_sample(  # noqa: E731
                x, grid, mode, padding, align_corners=False
            )
            attributes = f'mode = "{mode}", padding_mode = "{padding}"'
            yield call("GridSample", "double[1,2,4,5] x, double[1,3,3,2] grid", sample, attributes)
    yield call(
        "AffineGrid",
        "double[2,2,3] theta",
        lambda theta: functional.affine_grid(theta, [2, 1, 3, 4], align_corners=False),
        more="ints size = [2, 1, 3, 4]",
    )


def transforms() -> Iterator[GradientPeer]:
    fourier: Function = lambda x: torch.view_as_real(torch.fft.fft(x[..., 0], dim=1))  # noqa: E731
    body = "a = Constant<value_int = 1>() y = DFT(x, , a)"
    yield GradientPeer("DFT", "double[2,6,1] x", body, fourier)
    body = (
        "s = Constant<value_int = 3>() w = Constant<value = double[6] {1, 2, 3, 3, 2, 1}>() y = STFT(x, s, w)"
    )
    window = torch.tensor([1.0, 2, 3, 3, 2, 1]).double()
    spectra: Function = lambda x: torch.view_as_real(  # noqa: E731
        torch.stft(x[..., 0], 6, 3, window=window, center=False, return_complex=True).transpose(1, 2)
    )
    yield GradientPeer("STFT", "double[2,15,1] x", body, spectra)


def recurrent() -> Iterator[GradientPeer]:
    for name, gates, layer, order in (
        ("LSTM", 4, nn.LSTM, (0, 2, 3, 1)),
        ("GRU", 3, nn.GRU, (1, 0, 2)),
        ("RNN", 1, nn.RNN, (0,)),
    ):
        for direction, count in (("forward", 1), ("bidirectional", 2)):
            rows = 3 * gates
            inputs = f"double[5,2,4] x, double[{count},{rows},4] w, double[{count},{rows},3] r, double[{count},{2 * rows}] b"
            attributes = f'hidden_size = 3, direction = "{direction}"'
            attributes += ", linear_before_reset = 1" if name == "GRU" else ""
            yield call(name, inputs, recurrence(layer, order, count), attributes)


def recurrence(layer: type[nn.RNNBase], order: tuple[int, ...], count: int) -> Function:
    """A layer of 3 units, whose weights have the blocks of ONNX; order: the block of ONNX of each of PyTorch's."""

    def function(x: torch.Tensor, w: torch.Tensor, r: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        module = layer(4, 3, bidirectional=count == 2).double()
        rows = torch.cat([torch.arange(3 * block, 3 * block + 3) for block in order])
        half = b.shape[1] // 2
        weights = {}
        for i, suffix in enumerate(("", "_reverse")[:count]):
            weights[f"weight_ih_l0{suffix}"], weights[f"weight_hh_l0{suffix}"] = w[i][rows], r[i][rows]
            weights[f"bias_ih_l0{suffix}"], weights[f"bias_hh_l0{suffix}"] = (
                b[i][:half][rows],
                b[i][half:][rows],
            )
        y = torch.func.functional_call(module, weights, (x,))[0]
        return y.reshape(*y.shape[:2], count, 3).transpose(1, 2)

    return function


GROUPS = (
    elementwise,
    binary,
    products,
    reductions,
    shapes,
    indexing,
    windows,
    norms,
    losses,
    images,
    transforms,
    recurrent,
)
PEERS = tuple(peer for group in GROUPS for peer in group())
