"""The step of linear attention, from the operands of the operator; its loop nest is in `linear_attention_kernel.py`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sardonyx._src.compile.codegen import float32_bits
from sardonyx._src.compile.kernels.attention.linear_attention_kernel import (
    MAX_LANES,
    SIZES,
    STATES,
    Decay,
    Variant,
    linear_attention_module,
)
from sardonyx._src.compile.kernels.tuning import AttentionTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import ceil_div


@dataclass(frozen=True, slots=True)
class LinearAttentionOperands:
    """q [B, T, H G d_k], k [B, T, H d_k], v [B, T, H d_v], with contiguous rows.

    H: the heads of keys and values; G: the query heads that share one of them.
    past: the state before the first token, dense [B, H, d_k, d_v]; zeros if None.
    decay: [B, T, H], a number for each head, or [B, T, H d_k], a number for each row of the state; None: no decay.
    beta: the rate of the delta rule, [B, T, H] or [B, T, 1]; None for other rules.
    """

    q: TensorView
    k: TensorView
    v: TensorView
    past: TensorView | None = None
    decay: TensorView | None = None
    beta: TensorView | None = None

    def given(self) -> Mapping[str, TensorView]:
        """The operands that are not None, by name."""
        named = {name: getattr(self, name) for name in ("q", "k", "v", "past", "decay", "beta")}
        return {name: tensor for name, tensor in named.items() if tensor is not None}


def linear_attention_step(
    operands: LinearAttentionOperands,
    y: TensorView,
    state: TensorView,
    *,
    heads: int,
    group: int,
    scale: float,
) -> Step:
    """The step of y [B, T, H G d_v] and of the state [B, H, d_k, d_v] after the last token, both dense.

    heads, group: H and G of `LinearAttentionOperands`.
    """
    (items, tokens, width), (d_k, d_v) = operands.k.shape, state.shape[2:]
    assert isinstance(width, int) and isinstance(d_k, int) and isinstance(d_v, int), (
        "sizes of heads are known"
    )
    given, decay = operands.given(), operands.decay
    kind: Decay = "" if decay is None else "head" if decay.shape[2] == heads else "row"
    variant = Variant(kind, operands.beta is not None, operands.past is not None)
    strides = {name: tensor for name, tensor in {**given, "y": y}.items() if name not in STATES}
    arguments: dict[str, KernelArgument] = {**given, "y": y, "state": state}
    for name, tensor in strides.items():
        arguments |= {f"{name}_item": tensor.strides[0], f"{name}_token": tensor.strides[1]}
    if decay is not None:
        arguments["decay_head"] = 1 if kind == "head" else d_k
    if operands.beta is not None:
        arguments["beta_head"] = int(operands.beta.shape[2] == heads)
    sizes = (tokens, heads, group, d_k, d_v, float32_bits(scale))
    parameters = variant.parameters()
    key = f"linear_attention_{kind or 'constant'}{'_delta' * variant.has_delta}{'_past' * variant.has_past}"
    return Step(
        Kernel(key, partial(linear_attention_module, variant=variant), parameters),
        parameters.pack(**arguments, **dict(zip(SIZES, sizes, strict=True))),
        items * heads * ceil_div(d_v, AttentionTuning.state_vectors * MAX_LANES),
        tuple(given.values()),
        (y, state),
        flops=items * tokens * heads * d_k * d_v * (4 + 2 * group),
        bytes_accessed=2 * state.nbytes + y.nbytes + operands.k.nbytes + operands.v.nbytes,
        scratch=4 * d_k * (1 + AttentionTuning.state_vectors * MAX_LANES),
    )
