"""Lowers attention that a model writes as MatMul, scale, mask, Softmax and MatMul (`partition.patterns.softmax_attention`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sardonyx._src.compile.kernels.attention.attention import attention_steps
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition.operands.attention_operands import broadcast_mask
from sardonyx._src.compile.partition.patterns.softmax_attention import SoftmaxAttention
from sardonyx._src.compile.program import Step, TensorView


@lowers("SoftmaxAttention")
def lower_softmax_attention(region: LaidOutRegion[SoftmaxAttention], lowering: Lowering) -> Sequence[Step]:
    (queries, keys, values, *masks), config = region.operands, region.config
    q, k, v, y = map(as_rank_4, (queries, keys, values, region.results[0]))
    k = k.permute((0, 1, 3, 2))  # the model has the keys as [B, H, D, T], the kernel reads [B, H, T, D]
    mask = None
    if config.mask_keys is not None:
        mask = broadcast_mask(masks[0], (*q.shape[:3], k.shape[2]), config.mask_keys)
    return attention_steps(q, k, v, y, scale=config.scale, mask=mask)


def as_rank_4(tensor: TensorView) -> TensorView:
    """A tensor [B, H, S, D]; one of rank 3 gets a batch dim of 1."""
    if tensor.rank == 4:
        return tensor
    return replace(tensor, shape=(1, *tensor.shape), strides=(0, *tensor.strides))
