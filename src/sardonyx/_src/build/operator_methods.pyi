"""Written by `make regen`: the operators of the newest operator set as methods of a builder."""

# fmt: off
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from sardonyx._src.build.operand import Operand, OperandLike
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, SparseTensor, Tensor, Type

ElementType = DataType | str | np.dtype | type | int
TensorLike = Array | Tensor | float | Sequence[object]

class NamedOperators:
    @property
    def operator_domain(self) -> str: ...
    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand: ...
    def __getattr__(self, op_type: str) -> Callable[..., Any]: ...

class OperatorMethods:
    @property
    def operator_domain(self) -> str: ...
    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand: ...
    def Abs(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Abs-13: each element without its sign; the least integer stays itself.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Abs.html"""
    def Acos(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Acos-22: the angle between 0 and pi whose cosine is x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Acos.html"""
    def Acosh(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Acosh-22: the number, not below 0, whose hyperbolic cosine is x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Acosh.html"""
    def Add(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Add-14: A + B; integers wrap around.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Add.html"""
    def AffineGrid(
        self,
        theta: OperandLike,
        size: OperandLike,
        /,
        *,
        align_corners: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """AffineGrid-20: the points of a regular grid, transformed by one affine map per instance.
        T1: bfloat16, float16, float, double
        T2: int64
        https://onnx.ai/onnx/operators/onnx__AffineGrid.html"""
    def And(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """And-7: whether both elements are true.
        T: bool
        T1: bool
        https://onnx.ai/onnx/operators/onnx__And.html"""
    def ArgMax(
        self,
        data: OperandLike,
        /,
        *,
        axis: int = 0,
        keepdims: int = 1,
        select_last_index: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ArgMax-13: the index of the largest element along an axis.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ArgMax.html"""
    def ArgMin(
        self,
        data: OperandLike,
        /,
        *,
        axis: int = 0,
        keepdims: int = 1,
        select_last_index: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ArgMin-13: the index of the smallest element along an axis.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ArgMin.html"""
    def Asin(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Asin-22: the angle between -pi / 2 and pi / 2 whose sine is x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Asin.html"""
    def Asinh(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Asinh-22: the number whose hyperbolic sine is x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Asinh.html"""
    def Atan(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Atan-22: the angle between -pi / 2 and pi / 2 whose tangent is x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Atan.html"""
    def Atanh(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Atanh-22: the number whose hyperbolic tangent is x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Atanh.html"""
    @overload
    def Attention(
        self,
        Q: OperandLike,
        K: OperandLike,
        V: OperandLike,
        attn_mask: OperandLike | None = None,
        past_key: OperandLike | None = None,
        past_value: OperandLike | None = None,
        nonpad_kv_seqlen: OperandLike | None = None,
        /,
        *,
        is_causal: int = 0,
        kv_num_heads: int | None = None,
        left_window_size: int = -1,
        q_num_heads: int | None = None,
        qk_matmul_output_mode: int = 0,
        right_window_size: int = -1,
        scale: float | None = None,
        softcap: float = 0.0,
        softmax_precision: ElementType | None = None,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """Attention-25: scaled dot-product attention with multiple heads, masks and a key/value cache.
        T1: bfloat16, float16, float, double
        T2: bfloat16, float16, float, double
        U: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, bool
        https://onnx.ai/onnx/operators/onnx__Attention.html"""
    @overload
    def Attention(
        self,
        Q: OperandLike,
        K: OperandLike,
        V: OperandLike,
        attn_mask: OperandLike | None = None,
        past_key: OperandLike | None = None,
        past_value: OperandLike | None = None,
        nonpad_kv_seqlen: OperandLike | None = None,
        /,
        *,
        is_causal: int = 0,
        kv_num_heads: int | None = None,
        left_window_size: int = -1,
        q_num_heads: int | None = None,
        qk_matmul_output_mode: int = 0,
        right_window_size: int = -1,
        scale: float | None = None,
        softcap: float = 0.0,
        softmax_precision: ElementType | None = None,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Attention-25: scaled dot-product attention with multiple heads, masks and a key/value cache.
        T1: bfloat16, float16, float, double
        T2: bfloat16, float16, float, double
        U: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, bool
        https://onnx.ai/onnx/operators/onnx__Attention.html"""
    def AveragePool(
        self,
        X: OperandLike,
        /,
        *,
        kernel_shape: Sequence[int],
        auto_pad: str | bytes = 'NOTSET',
        ceil_mode: int = 0,
        count_include_pad: int = 0,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """AveragePool-22: the mean of each window.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__AveragePool.html"""
    @overload
    def BatchNormalization(
        self,
        X: OperandLike,
        scale: OperandLike,
        B: OperandLike,
        input_mean: OperandLike,
        input_var: OperandLike,
        /,
        *,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        training_mode: int = 0,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """BatchNormalization-15: each channel normalized to mean 0 and variance 1 over the batch, then scaled and shifted.
        T: float16, float, double, bfloat16
        T1: float16, float, double, bfloat16
        T2: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__BatchNormalization.html"""
    @overload
    def BatchNormalization(
        self,
        X: OperandLike,
        scale: OperandLike,
        B: OperandLike,
        input_mean: OperandLike,
        input_var: OperandLike,
        /,
        *,
        epsilon: float = 1e-05,
        momentum: float = 0.9,
        training_mode: int = 0,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """BatchNormalization-15: each channel normalized to mean 0 and variance 1 over the batch, then scaled and shifted.
        T: float16, float, double, bfloat16
        T1: float16, float, double, bfloat16
        T2: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__BatchNormalization.html"""
    def Bernoulli(
        self,
        input: OperandLike,
        /,
        *,
        dtype: ElementType | None = None,
        seed: float | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Bernoulli-22: 1 with the probability that the input gives, otherwise 0.
        T1: bfloat16, float16, float, double
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, bool
        https://onnx.ai/onnx/operators/onnx__Bernoulli.html"""
    def BitCast(
        self,
        input: OperandLike,
        /,
        *,
        to: ElementType,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """BitCast-26: the bits of each element read as another type of the same width.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__BitCast.html"""
    def BitShift(
        self,
        X: OperandLike,
        Y: OperandLike,
        /,
        *,
        direction: str | bytes,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """BitShift-28: the bits of X shifted to the left or to the right by Y bits.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64
        https://onnx.ai/onnx/operators/onnx__BitShift.html"""
    def BitwiseAnd(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """BitwiseAnd-18: the bits that are set in both integers.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64
        https://onnx.ai/onnx/operators/onnx__BitwiseAnd.html"""
    def BitwiseNot(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """BitwiseNot-18: every bit of an integer inverted.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64
        https://onnx.ai/onnx/operators/onnx__BitwiseNot.html"""
    def BitwiseOr(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """BitwiseOr-18: the bits that are set in at least one of two integers.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64
        https://onnx.ai/onnx/operators/onnx__BitwiseOr.html"""
    def BitwiseXor(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """BitwiseXor-18: the bits in which two integers differ.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64
        https://onnx.ai/onnx/operators/onnx__BitwiseXor.html"""
    def BlackmanWindow(
        self,
        size: OperandLike,
        /,
        *,
        output_datatype: int = 1,
        periodic: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """BlackmanWindow-17: a sum of two cosines, which falls to 0 at both ends more smoothly than one does.
        T1: int32, int64
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__BlackmanWindow.html"""
    def Cast(
        self,
        input: OperandLike,
        /,
        *,
        to: ElementType,
        round_mode: str | bytes = 'up',
        saturate: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Cast-28: elements as another type.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, float6e2m3, float6e3m2
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, float6e2m3, float6e3m2
        https://onnx.ai/onnx/operators/onnx__Cast.html"""
    def CastLike(
        self,
        input: OperandLike,
        target_type: OperandLike,
        /,
        *,
        round_mode: str | bytes = 'up',
        saturate: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """CastLike-25: elements as the type of another tensor.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__CastLike.html"""
    def CausalConvWithState(
        self,
        input: OperandLike,
        weight: OperandLike,
        bias: OperandLike | None = None,
        past_state: OperandLike | None = None,
        /,
        *,
        activation: str | bytes = 'none',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> tuple[Operand, Operand]:
        """CausalConvWithState-27: causal depthwise convolution along time, with the last inputs as explicit state.
        T: float, float16, bfloat16
        https://onnx.ai/onnx/operators/onnx__CausalConvWithState.html"""
    def Ceil(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Ceil-13: the least whole number not below each element.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Ceil.html"""
    def Celu(
        self,
        X: OperandLike,
        /,
        *,
        alpha: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Celu-28: max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Celu.html"""
    def CenterCropPad(
        self,
        input_data: OperandLike,
        shape: OperandLike,
        /,
        *,
        axes: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """CenterCropPad-18: crops or zero-pads axes symmetrically to given sizes.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__CenterCropPad.html"""
    def Clip(
        self,
        input: OperandLike,
        min: OperandLike | None = None,
        max: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Clip-13: elements limited to [min, max]; `max` wins where it is below `min`.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Clip.html"""
    def Col2Im(
        self,
        input: OperandLike,
        image_shape: OperandLike,
        block_shape: OperandLike,
        /,
        *,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Col2Im-18: rearranges columns of blocks into an image and sums overlapping elements.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Col2Im.html"""
    def Compress(
        self,
        input: OperandLike,
        condition: OperandLike,
        /,
        *,
        axis: int | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Compress-28: selects the slices of an axis, or the elements, for which a condition is true.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        T1: bool
        https://onnx.ai/onnx/operators/onnx__Compress.html"""
    def Concat(
        self,
        *inputs: OperandLike,
        axis: int,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Concat-13: concatenates tensors along one axis.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Concat.html"""
    def ConcatFromSequence(
        self,
        input_sequence: OperandLike,
        /,
        *,
        axis: int,
        new_axis: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ConcatFromSequence-11: the tensors of a sequence concatenated along an axis, or stacked along a new one.
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__ConcatFromSequence.html"""
    def Constant(
        self,
        *,
        sparse_value: SparseTensor | None = None,
        value: TensorLike | None = None,
        value_float: float | None = None,
        value_floats: Sequence[float] | None = None,
        value_int: int | None = None,
        value_ints: Sequence[int] | None = None,
        value_string: str | bytes | None = None,
        value_strings: Sequence[str | bytes] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Constant-25: a tensor given by the attributes of the node.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Constant.html"""
    def ConstantOfShape(
        self,
        input: OperandLike,
        /,
        *,
        value: TensorLike | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ConstantOfShape-25: a tensor of a given shape filled with one value.
        T1: int64
        T2: float16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, uint4, int4, bool, bfloat16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__ConstantOfShape.html"""
    def Conv(
        self,
        X: OperandLike,
        W: OperandLike,
        B: OperandLike | None = None,
        /,
        *,
        auto_pad: str | bytes = 'NOTSET',
        dilations: Sequence[int] | None = None,
        group: int = 1,
        kernel_shape: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Conv-22: convolution, each output the dot product of a window of the input and a kernel.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Conv.html"""
    def ConvInteger(
        self,
        x: OperandLike,
        w: OperandLike,
        x_zero_point: OperandLike | None = None,
        w_zero_point: OperandLike | None = None,
        /,
        *,
        auto_pad: str | bytes = 'NOTSET',
        dilations: Sequence[int] | None = None,
        group: int = 1,
        kernel_shape: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ConvInteger-10: Conv on 8-bit integers minus their zero points, accumulated in 32 bits.
        T1: int8, uint8
        T2: int8, uint8
        T3: int32
        https://onnx.ai/onnx/operators/onnx__ConvInteger.html"""
    def ConvTranspose(
        self,
        X: OperandLike,
        W: OperandLike,
        B: OperandLike | None = None,
        /,
        *,
        auto_pad: str | bytes = 'NOTSET',
        dilations: Sequence[int] | None = None,
        group: int = 1,
        kernel_shape: Sequence[int] | None = None,
        output_padding: Sequence[int] | None = None,
        output_shape: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ConvTranspose-22: transposed convolution; each input element adds a scaled kernel to the output.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__ConvTranspose.html"""
    def Cos(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Cos-22: the cosine of x, in radians.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Cos.html"""
    def Cosh(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Cosh-22: the hyperbolic cosine of x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Cosh.html"""
    def CumProd(
        self,
        x: OperandLike,
        axis: OperandLike,
        /,
        *,
        exclusive: int = 0,
        reverse: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """CumProd-26: running products along an axis.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        T2: int32, int64
        https://onnx.ai/onnx/operators/onnx__CumProd.html"""
    def CumSum(
        self,
        x: OperandLike,
        axis: OperandLike,
        /,
        *,
        exclusive: int = 0,
        reverse: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """CumSum-14: running sums along an axis.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        T2: int32, int64
        https://onnx.ai/onnx/operators/onnx__CumSum.html"""
    def DFT(
        self,
        input: OperandLike,
        dft_length: OperandLike | None = None,
        axis: OperandLike | None = None,
        /,
        *,
        inverse: int = 0,
        onesided: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """DFT-20: the discrete Fourier transform along one axis, or its inverse, which divides by the length.
        T1: bfloat16, float16, float, double
        T2: int32, int64
        https://onnx.ai/onnx/operators/onnx__DFT.html"""
    def DeformConv(
        self,
        X: OperandLike,
        W: OperandLike,
        offset: OperandLike,
        B: OperandLike | None = None,
        mask: OperandLike | None = None,
        /,
        *,
        dilations: Sequence[int] | None = None,
        group: int = 1,
        kernel_shape: Sequence[int] | None = None,
        offset_group: int = 1,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """DeformConv-22: deformable convolution; each tap is shifted by an offset and sampled with linear interpolation.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__DeformConv.html"""
    def DepthToSpace(
        self,
        input: OperandLike,
        /,
        *,
        blocksize: int,
        mode: str | bytes = 'DCR',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """DepthToSpace-28: rearranges channels into blocks of pixels.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__DepthToSpace.html"""
    def DequantizeLinear(
        self,
        x: OperandLike,
        x_scale: OperandLike,
        x_zero_point: OperandLike | None = None,
        /,
        *,
        axis: int = 1,
        block_size: int = 0,
        output_dtype: ElementType = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """DequantizeLinear-28: y = (x - x_zero_point) * x_scale.
        T1: int8, uint8, int16, uint16, int32, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, uint2, int2, float6e2m3, float6e3m2
        T2: float, float16, bfloat16, float8e8m0
        T3: float, float16, bfloat16
        https://onnx.ai/onnx/operators/onnx__DequantizeLinear.html"""
    def Det(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Det-22: the determinant of square matrices, batched over the axes before the last two.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Det.html"""
    def Div(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Div-14: quotients; those of integers are rounded toward zero.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Div.html"""
    @overload
    def Dropout(
        self,
        data: OperandLike,
        ratio: OperandLike | None = None,
        training_mode: OperandLike | None = None,
        /,
        *,
        seed: int | None = None,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """Dropout-22: in training, random elements set to zero and the others scaled up; in inference, the identity.
        T: bfloat16, float16, float, double, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T1: bfloat16, float16, float, double, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T2: bool
        https://onnx.ai/onnx/operators/onnx__Dropout.html"""
    @overload
    def Dropout(
        self,
        data: OperandLike,
        ratio: OperandLike | None = None,
        training_mode: OperandLike | None = None,
        /,
        *,
        seed: int | None = None,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Dropout-22: in training, random elements set to zero and the others scaled up; in inference, the identity.
        T: bfloat16, float16, float, double, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T1: bfloat16, float16, float, double, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T2: bool
        https://onnx.ai/onnx/operators/onnx__Dropout.html"""
    def DynamicQuantizeLinear(
        self,
        x: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> tuple[Operand, Operand, Operand]:
        """DynamicQuantizeLinear-11: x quantized to uint8, with a scale and a zero point computed from the range of its elements.
        T1: float
        T2: uint8
        https://onnx.ai/onnx/operators/onnx__DynamicQuantizeLinear.html"""
    def Einsum(
        self,
        *Inputs: OperandLike,
        equation: str | bytes,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Einsum-28: products of tensors, summed over every index that the output does not name.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Einsum.html"""
    def Elu(
        self,
        X: OperandLike,
        /,
        *,
        alpha: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Elu-22: x where it is not negative, alpha * (exp(x) - 1) elsewhere.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Elu.html"""
    def Equal(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Equal-19: where A and B are the same; NaN is equal to nothing.
        T: bool, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16, string
        T1: bool
        https://onnx.ai/onnx/operators/onnx__Equal.html"""
    def Erf(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Erf-13: the error function.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Erf.html"""
    def Exp(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Exp-13: e to the power x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Exp.html"""
    def Expand(
        self,
        input: OperandLike,
        shape: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Expand-13: broadcasts a tensor to a shape.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Expand.html"""
    def EyeLike(
        self,
        input: OperandLike,
        /,
        *,
        dtype: ElementType | None = None,
        k: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """EyeLike-22: a matrix of zeros with ones on one diagonal.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, bool
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, bool
        https://onnx.ai/onnx/operators/onnx__EyeLike.html"""
    def Flatten(
        self,
        input: OperandLike,
        /,
        *,
        axis: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Flatten-25: reshapes to two dimensions, the axes before `axis` and the rest.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Flatten.html"""
    def Floor(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Floor-13: the greatest whole number not above each element.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Floor.html"""
    @overload
    def GRU(
        self,
        X: OperandLike,
        W: OperandLike,
        R: OperandLike,
        B: OperandLike | None = None,
        sequence_lens: OperandLike | None = None,
        initial_h: OperandLike | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | None = None,
        activation_beta: Sequence[float] | None = None,
        activations: Sequence[str | bytes] | None = None,
        clip: float | None = None,
        direction: str | bytes = 'forward',
        hidden_size: int | None = None,
        layout: int = 0,
        linear_before_reset: int = 0,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """GRU-22: a gated recurrent unit layer.
        T: bfloat16, float16, float, double
        T1: int32
        https://onnx.ai/onnx/operators/onnx__GRU.html"""
    @overload
    def GRU(
        self,
        X: OperandLike,
        W: OperandLike,
        R: OperandLike,
        B: OperandLike | None = None,
        sequence_lens: OperandLike | None = None,
        initial_h: OperandLike | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | None = None,
        activation_beta: Sequence[float] | None = None,
        activations: Sequence[str | bytes] | None = None,
        clip: float | None = None,
        direction: str | bytes = 'forward',
        hidden_size: int | None = None,
        layout: int = 0,
        linear_before_reset: int = 0,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """GRU-22: a gated recurrent unit layer.
        T: bfloat16, float16, float, double
        T1: int32
        https://onnx.ai/onnx/operators/onnx__GRU.html"""
    def Gather(
        self,
        data: OperandLike,
        indices: OperandLike,
        /,
        *,
        axis: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Gather-13: entries of one axis, selected by indices.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__Gather.html"""
    def GatherElements(
        self,
        data: OperandLike,
        indices: OperandLike,
        /,
        *,
        axis: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GatherElements-13: for each index, the element of data at that index along one axis, and at its position in the others.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__GatherElements.html"""
    def GatherND(
        self,
        data: OperandLike,
        indices: OperandLike,
        /,
        *,
        batch_dims: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GatherND-13: entries or slices of a tensor, each selected by a tuple of indices.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__GatherND.html"""
    def Gelu(
        self,
        X: OperandLike,
        /,
        *,
        approximate: str | bytes = 'none',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Gelu-20: x times the probability that a normal variable is below x.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Gelu.html"""
    def Gemm(
        self,
        A: OperandLike,
        B: OperandLike,
        C: OperandLike | None = None,
        /,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        transA: int = 0,
        transB: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Gemm-13: alpha * A' * B' + beta * C, where A' and B' are A and B, each optionally transposed.
        T: float16, float, double, uint32, uint64, int32, int64, bfloat16
        https://onnx.ai/onnx/operators/onnx__Gemm.html"""
    def GlobalAveragePool(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GlobalAveragePool-22: the mean of each channel.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__GlobalAveragePool.html"""
    def GlobalLpPool(
        self,
        X: OperandLike,
        /,
        *,
        p: int = 2,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GlobalLpPool-22: the Lp norm of each channel.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__GlobalLpPool.html"""
    def GlobalMaxPool(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GlobalMaxPool-22: the maximum of each channel.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__GlobalMaxPool.html"""
    def Greater(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Greater-13: where A is above B.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        T1: bool
        https://onnx.ai/onnx/operators/onnx__Greater.html"""
    def GreaterOrEqual(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GreaterOrEqual-16: where A is B or above it.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        T1: bool
        https://onnx.ai/onnx/operators/onnx__GreaterOrEqual.html"""
    def GridSample(
        self,
        X: OperandLike,
        grid: OperandLike,
        /,
        *,
        align_corners: int = 0,
        mode: str | bytes = 'linear',
        padding_mode: str | bytes = 'zeros',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GridSample-22: an image sampled at the points of a grid, interpolated between pixels.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        T2: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__GridSample.html"""
    def GroupNormalization(
        self,
        X: OperandLike,
        scale: OperandLike,
        bias: OperandLike,
        /,
        *,
        num_groups: int,
        epsilon: float = 1e-05,
        stash_type: ElementType = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GroupNormalization-21: each group of channels normalized to mean 0 and variance 1, then scaled and shifted.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__GroupNormalization.html"""
    def GroupedMatMul(
        self,
        input: OperandLike,
        weights: OperandLike,
        group_indices: OperandLike,
        bias: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """GroupedMatMul-29: each row times the matrices that its group indices select.
        T: float16, float, double, bfloat16
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__GroupedMatMul.html"""
    def HammingWindow(
        self,
        size: OperandLike,
        /,
        *,
        output_datatype: int = 1,
        periodic: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """HammingWindow-17: a raised cosine whose ends are at 4 / 46, where the nearest side lobe is least.
        T1: int32, int64
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__HammingWindow.html"""
    def HannWindow(
        self,
        size: OperandLike,
        /,
        *,
        output_datatype: int = 1,
        periodic: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """HannWindow-17: half of 1 - cos(x) from one end to the other, which falls to 0 at both.
        T1: int32, int64
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__HannWindow.html"""
    def HardSigmoid(
        self,
        X: OperandLike,
        /,
        *,
        alpha: float = 0.2,
        beta: float = 0.5,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """HardSigmoid-22: alpha * x + beta, limited to [0, 1].
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__HardSigmoid.html"""
    def HardSwish(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """HardSwish-22: x times a gate, which is x / 6 + 0.5 limited to [0, 1].
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__HardSwish.html"""
    def Hardmax(
        self,
        input: OperandLike,
        /,
        *,
        axis: int = -1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Hardmax-13: 1 at the first maximum along an axis, 0 elsewhere.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Hardmax.html"""
    def Identity(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Identity-25: a copy of its input.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128))
        https://onnx.ai/onnx/operators/onnx__Identity.html"""
    @overload
    def If(
        self,
        cond: OperandLike,
        /,
        *,
        else_branch: Graph,
        then_branch: Graph,
        outputs: None = None,
        name: str = "",
    ) -> tuple[Operand, ...]:
        """If-25: the results of one of two subgraphs.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(bfloat16))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(bfloat16)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128)), optional(tensor(float8e4m3fn)), optional(tensor(float8e4m3fnuz)), optional(tensor(float8e5m2)), optional(tensor(float8e5m2fnuz)), optional(tensor(uint4)), optional(tensor(int4)), optional(tensor(float4e2m1)), optional(tensor(float8e8m0)), optional(tensor(uint2)), optional(tensor(int2))
        B: bool
        https://onnx.ai/onnx/operators/onnx__If.html"""
    @overload
    def If(
        self,
        cond: OperandLike,
        /,
        *,
        else_branch: Graph,
        then_branch: Graph,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """If-25: the results of one of two subgraphs.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(bfloat16))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(bfloat16)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128)), optional(tensor(float8e4m3fn)), optional(tensor(float8e4m3fnuz)), optional(tensor(float8e5m2)), optional(tensor(float8e5m2fnuz)), optional(tensor(uint4)), optional(tensor(int4)), optional(tensor(float4e2m1)), optional(tensor(float8e8m0)), optional(tensor(uint2)), optional(tensor(int2))
        B: bool
        https://onnx.ai/onnx/operators/onnx__If.html"""
    def ImageDecoder(
        self,
        encoded_stream: OperandLike,
        /,
        *,
        pixel_format: str | bytes = 'RGB',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ImageDecoder-20: the pixels of an encoded image.
        T1: uint8
        T2: uint8
        https://onnx.ai/onnx/operators/onnx__ImageDecoder.html"""
    def InstanceNormalization(
        self,
        input: OperandLike,
        scale: OperandLike,
        B: OperandLike,
        /,
        *,
        epsilon: float = 1e-05,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """InstanceNormalization-22: each channel of each instance normalized to mean 0 and variance 1, then scaled and shifted.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__InstanceNormalization.html"""
    def IsInf(
        self,
        X: OperandLike,
        /,
        *,
        detect_negative: int = 1,
        detect_positive: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """IsInf-20: which elements are infinite.
        T1: bfloat16, float16, float, double, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T2: bool
        https://onnx.ai/onnx/operators/onnx__IsInf.html"""
    def IsNaN(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """IsNaN-20: which elements are NaN.
        T1: bfloat16, float16, float, double, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T2: bool
        https://onnx.ai/onnx/operators/onnx__IsNaN.html"""
    def LRN(
        self,
        X: OperandLike,
        /,
        *,
        size: int,
        alpha: float = 0.0001,
        beta: float = 0.75,
        bias: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """LRN-13: local response normalization; each element divided by a power of the sum of squares in neighboring channels.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__LRN.html"""
    @overload
    def LSTM(
        self,
        X: OperandLike,
        W: OperandLike,
        R: OperandLike,
        B: OperandLike | None = None,
        sequence_lens: OperandLike | None = None,
        initial_h: OperandLike | None = None,
        initial_c: OperandLike | None = None,
        P: OperandLike | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | None = None,
        activation_beta: Sequence[float] | None = None,
        activations: Sequence[str | bytes] | None = None,
        clip: float | None = None,
        direction: str | bytes = 'forward',
        hidden_size: int | None = None,
        input_forget: int = 0,
        layout: int = 0,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """LSTM-22: a long short-term memory layer.
        T: bfloat16, float16, float, double
        T1: int32
        https://onnx.ai/onnx/operators/onnx__LSTM.html"""
    @overload
    def LSTM(
        self,
        X: OperandLike,
        W: OperandLike,
        R: OperandLike,
        B: OperandLike | None = None,
        sequence_lens: OperandLike | None = None,
        initial_h: OperandLike | None = None,
        initial_c: OperandLike | None = None,
        P: OperandLike | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | None = None,
        activation_beta: Sequence[float] | None = None,
        activations: Sequence[str | bytes] | None = None,
        clip: float | None = None,
        direction: str | bytes = 'forward',
        hidden_size: int | None = None,
        input_forget: int = 0,
        layout: int = 0,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """LSTM-22: a long short-term memory layer.
        T: bfloat16, float16, float, double
        T1: int32
        https://onnx.ai/onnx/operators/onnx__LSTM.html"""
    @overload
    def LayerNormalization(
        self,
        X: OperandLike,
        Scale: OperandLike,
        B: OperandLike | None = None,
        /,
        *,
        axis: int = -1,
        epsilon: float = 1e-05,
        stash_type: ElementType = 1,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """LayerNormalization-17: the axes from `axis` on normalized to mean 0 and variance 1, then scaled and shifted.
        T: float16, float, double, bfloat16
        U: float, bfloat16
        https://onnx.ai/onnx/operators/onnx__LayerNormalization.html"""
    @overload
    def LayerNormalization(
        self,
        X: OperandLike,
        Scale: OperandLike,
        B: OperandLike | None = None,
        /,
        *,
        axis: int = -1,
        epsilon: float = 1e-05,
        stash_type: ElementType = 1,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """LayerNormalization-17: the axes from `axis` on normalized to mean 0 and variance 1, then scaled and shifted.
        T: float16, float, double, bfloat16
        U: float, bfloat16
        https://onnx.ai/onnx/operators/onnx__LayerNormalization.html"""
    def LeakyRelu(
        self,
        X: OperandLike,
        /,
        *,
        alpha: float = 0.01,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """LeakyRelu-16: x where it is not negative, alpha * x elsewhere.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__LeakyRelu.html"""
    def Less(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Less-13: where A is below B.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        T1: bool
        https://onnx.ai/onnx/operators/onnx__Less.html"""
    def LessOrEqual(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """LessOrEqual-16: where A is B or below it.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        T1: bool
        https://onnx.ai/onnx/operators/onnx__LessOrEqual.html"""
    def LinearAttention(
        self,
        query: OperandLike,
        key: OperandLike,
        value: OperandLike,
        past_state: OperandLike | None = None,
        decay: OperandLike | None = None,
        beta: OperandLike | None = None,
        /,
        *,
        kv_num_heads: int,
        q_num_heads: int,
        chunk_size: int = 64,
        scale: float = 0.0,
        update_rule: str | bytes = 'gated_delta',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> tuple[Operand, Operand]:
        """LinearAttention-27: attention without softmax, as a recurrent state that every token updates and reads.
        T: float16, bfloat16, float
        S: float16, bfloat16, float
        https://onnx.ai/onnx/operators/onnx__LinearAttention.html"""
    def Log(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Log-13: the natural logarithm of x.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Log.html"""
    def LogSoftmax(
        self,
        input: OperandLike,
        /,
        *,
        axis: int = -1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """LogSoftmax-13: the logarithm of Softmax.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__LogSoftmax.html"""
    @overload
    def Loop(
        self,
        M: OperandLike | None = None,
        cond: OperandLike | None = None,
        *v_initial: OperandLike,
        body: Graph,
        outputs: None = None,
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Loop-25: a subgraph iterated with loop-carried values.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(bfloat16))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(bfloat16)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128)), optional(tensor(float8e4m3fn)), optional(tensor(float8e4m3fnuz)), optional(tensor(float8e5m2)), optional(tensor(float8e5m2fnuz)), optional(tensor(uint4)), optional(tensor(int4)), optional(tensor(float4e2m1)), optional(tensor(float8e8m0)), optional(tensor(uint2)), optional(tensor(int2))
        I: int64
        B: bool
        https://onnx.ai/onnx/operators/onnx__Loop.html"""
    @overload
    def Loop(
        self,
        M: OperandLike | None = None,
        cond: OperandLike | None = None,
        *v_initial: OperandLike,
        body: Graph,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Loop-25: a subgraph iterated with loop-carried values.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(bfloat16))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(bfloat16)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128)), optional(tensor(float8e4m3fn)), optional(tensor(float8e4m3fnuz)), optional(tensor(float8e5m2)), optional(tensor(float8e5m2fnuz)), optional(tensor(uint4)), optional(tensor(int4)), optional(tensor(float4e2m1)), optional(tensor(float8e8m0)), optional(tensor(uint2)), optional(tensor(int2))
        I: int64
        B: bool
        https://onnx.ai/onnx/operators/onnx__Loop.html"""
    def LpNormalization(
        self,
        input: OperandLike,
        /,
        *,
        axis: int = -1,
        p: int = 2,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """LpNormalization-22: elements divided by the p-norm along an axis.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__LpNormalization.html"""
    def LpPool(
        self,
        X: OperandLike,
        /,
        *,
        kernel_shape: Sequence[int],
        auto_pad: str | bytes = 'NOTSET',
        ceil_mode: int = 0,
        dilations: Sequence[int] | None = None,
        p: int = 2,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """LpPool-22: the Lp norm of each window, the p-th root of the sum of |x|^p.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__LpPool.html"""
    def MatMul(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """MatMul-13: the matrix product of the last two axes, batched over the axes before them.
        T: float16, float, double, uint32, uint64, int32, int64, bfloat16
        https://onnx.ai/onnx/operators/onnx__MatMul.html"""
    def MatMulInteger(
        self,
        A: OperandLike,
        B: OperandLike,
        a_zero_point: OperandLike | None = None,
        b_zero_point: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """MatMulInteger-10: the matrix product of 8-bit integers minus their zero points, accumulated in 32 bits.
        T1: int8, uint8
        T2: int8, uint8
        T3: int32
        https://onnx.ai/onnx/operators/onnx__MatMulInteger.html"""
    def Max(
        self,
        *data_0: OperandLike,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Max-13: the greatest of the inputs' elements at each index; NaN where one of them is NaN.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Max.html"""
    @overload
    def MaxPool(
        self,
        X: OperandLike,
        /,
        *,
        kernel_shape: Sequence[int],
        auto_pad: str | bytes = 'NOTSET',
        ceil_mode: int = 0,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        storage_order: int = 0,
        strides: Sequence[int] | None = None,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """MaxPool-22: the maximum of each window, and its position.
        T: bfloat16, float16, float, double, int8, uint8
        I: int64
        https://onnx.ai/onnx/operators/onnx__MaxPool.html"""
    @overload
    def MaxPool(
        self,
        X: OperandLike,
        /,
        *,
        kernel_shape: Sequence[int],
        auto_pad: str | bytes = 'NOTSET',
        ceil_mode: int = 0,
        dilations: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        storage_order: int = 0,
        strides: Sequence[int] | None = None,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """MaxPool-22: the maximum of each window, and its position.
        T: bfloat16, float16, float, double, int8, uint8
        I: int64
        https://onnx.ai/onnx/operators/onnx__MaxPool.html"""
    def MaxRoiPool(
        self,
        X: OperandLike,
        rois: OperandLike,
        /,
        *,
        pooled_shape: Sequence[int],
        spatial_scale: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """MaxRoiPool-22: the maxima of regions of an image, each divided into bins of whole pixels.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__MaxRoiPool.html"""
    def MaxUnpool(
        self,
        X: OperandLike,
        I: OperandLike,
        output_shape: OperandLike | None = None,
        /,
        *,
        kernel_shape: Sequence[int],
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """MaxUnpool-22: the inverse of MaxPool; scatters values to their indices in a tensor of zeros.
        T1: bfloat16, float16, float, double
        T2: int64
        https://onnx.ai/onnx/operators/onnx__MaxUnpool.html"""
    def Mean(
        self,
        *data_0: OperandLike,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Mean-13: the inputs added up, element by element, and divided by their number.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Mean.html"""
    def MeanVarianceNormalization(
        self,
        X: OperandLike,
        /,
        *,
        axes: Sequence[int] = ...,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """MeanVarianceNormalization-13: elements normalized to mean 0 and variance 1 along axes.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__MeanVarianceNormalization.html"""
    def MelWeightMatrix(
        self,
        num_mel_bins: OperandLike,
        dft_length: OperandLike,
        sample_rate: OperandLike,
        lower_edge_hertz: OperandLike,
        upper_edge_hertz: OperandLike,
        /,
        *,
        output_datatype: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """MelWeightMatrix-17: triangular filters that map the bins of a spectrum to bands of equal width on the mel scale.
        T1: int32, int64
        T2: float, float16, double, bfloat16
        T3: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__MelWeightMatrix.html"""
    def Min(
        self,
        *data_0: OperandLike,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Min-13: the least of the inputs' elements at each index; NaN where one of them is NaN.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Min.html"""
    def Mish(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Mish-22: x * tanh(log(exp(x) + 1)).
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Mish.html"""
    def Mod(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        fmod: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Mod-28: the remainder of a division.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Mod.html"""
    def Mul(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Mul-14: A * B; integers wrap around.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Mul.html"""
    def Multinomial(
        self,
        input: OperandLike,
        /,
        *,
        dtype: ElementType = 6,
        sample_size: int = 1,
        seed: float | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Multinomial-22: classes drawn with given log-probabilities, which need not be normalized.
        T1: bfloat16, float16, float, double
        T2: int32, int64
        https://onnx.ai/onnx/operators/onnx__Multinomial.html"""
    def Neg(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Neg-13: each element with the other sign; the least integer stays itself.
        T: float, int32, int8, int16, int64, float16, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Neg.html"""
    def NegativeLogLikelihoodLoss(
        self,
        input: OperandLike,
        target: OperandLike,
        weight: OperandLike | None = None,
        /,
        *,
        ignore_index: int | None = None,
        reduction: str | bytes = 'mean',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """NegativeLogLikelihoodLoss-22: the negative log-probability of the target class.
        T: bfloat16, float16, float, double
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__NegativeLogLikelihoodLoss.html"""
    def NonMaxSuppression(
        self,
        boxes: OperandLike,
        scores: OperandLike,
        max_output_boxes_per_class: OperandLike | None = None,
        iou_threshold: OperandLike | None = None,
        score_threshold: OperandLike | None = None,
        /,
        *,
        center_point_box: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """NonMaxSuppression-11: for each class the boxes with the highest scores that do not overlap too much.
        https://onnx.ai/onnx/operators/onnx__NonMaxSuppression.html"""
    def NonZero(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """NonZero-13: the indices of the nonzero elements of a tensor.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__NonZero.html"""
    def Not(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Not-1: true for false and false for true.
        T: bool
        https://onnx.ai/onnx/operators/onnx__Not.html"""
    def OneHot(
        self,
        indices: OperandLike,
        depth: OperandLike,
        values: OperandLike,
        /,
        *,
        axis: int = -1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """OneHot-28: for each index, a line of `off` values with an `on` value at that index.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double
        T2: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double
        T3: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__OneHot.html"""
    def Optional(
        self,
        input: OperandLike | None = None,
        /,
        *,
        type: Type | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Optional-28: an optional value, from an element or empty.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, float6e2m3, float6e3m2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), seq(tensor(float6e2m3)), seq(tensor(float6e3m2))
        O: optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(bfloat16)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128)), optional(tensor(float8e4m3fn)), optional(tensor(float8e4m3fnuz)), optional(tensor(float8e5m2)), optional(tensor(float8e5m2fnuz)), optional(tensor(uint4)), optional(tensor(int4)), optional(tensor(float4e2m1)), optional(tensor(float8e8m0)), optional(tensor(uint2)), optional(tensor(int2)), optional(tensor(float6e2m3)), optional(tensor(float6e3m2)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(bfloat16))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(seq(tensor(float8e4m3fn))), optional(seq(tensor(float8e4m3fnuz))), optional(seq(tensor(float8e5m2))), optional(seq(tensor(float8e5m2fnuz))), optional(seq(tensor(uint4))), optional(seq(tensor(int4))), optional(seq(tensor(float4e2m1))), optional(seq(tensor(float8e8m0))), optional(seq(tensor(uint2))), optional(seq(tensor(int2))), optional(seq(tensor(float6e2m3))), optional(seq(tensor(float6e3m2)))
        https://onnx.ai/onnx/operators/onnx__Optional.html"""
    def OptionalGetElement(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """OptionalGetElement-28: the element of an optional value.
        O: optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(bfloat16)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128)), optional(tensor(float8e4m3fn)), optional(tensor(float8e4m3fnuz)), optional(tensor(float8e5m2)), optional(tensor(float8e5m2fnuz)), optional(tensor(uint4)), optional(tensor(int4)), optional(tensor(float4e2m1)), optional(tensor(float8e8m0)), optional(tensor(uint2)), optional(tensor(int2)), optional(tensor(float6e2m3)), optional(tensor(float6e3m2)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(bfloat16))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(seq(tensor(float8e4m3fn))), optional(seq(tensor(float8e4m3fnuz))), optional(seq(tensor(float8e5m2))), optional(seq(tensor(float8e5m2fnuz))), optional(seq(tensor(uint4))), optional(seq(tensor(int4))), optional(seq(tensor(float4e2m1))), optional(seq(tensor(float8e8m0))), optional(seq(tensor(uint2))), optional(seq(tensor(int2))), optional(seq(tensor(float6e2m3))), optional(seq(tensor(float6e3m2))), uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, float6e2m3, float6e3m2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), seq(tensor(float6e2m3)), seq(tensor(float6e3m2))
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, float6e2m3, float6e3m2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), seq(tensor(float6e2m3)), seq(tensor(float6e3m2))
        https://onnx.ai/onnx/operators/onnx__OptionalGetElement.html"""
    def OptionalHasElement(
        self,
        input: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """OptionalHasElement-28: whether an optional value has an element.
        O: optional(tensor(uint8)), optional(tensor(uint16)), optional(tensor(uint32)), optional(tensor(uint64)), optional(tensor(int8)), optional(tensor(int16)), optional(tensor(int32)), optional(tensor(int64)), optional(tensor(bfloat16)), optional(tensor(float16)), optional(tensor(float)), optional(tensor(double)), optional(tensor(string)), optional(tensor(bool)), optional(tensor(complex64)), optional(tensor(complex128)), optional(tensor(float8e4m3fn)), optional(tensor(float8e4m3fnuz)), optional(tensor(float8e5m2)), optional(tensor(float8e5m2fnuz)), optional(tensor(uint4)), optional(tensor(int4)), optional(tensor(float4e2m1)), optional(tensor(float8e8m0)), optional(tensor(uint2)), optional(tensor(int2)), optional(tensor(float6e2m3)), optional(tensor(float6e3m2)), optional(seq(tensor(uint8))), optional(seq(tensor(uint16))), optional(seq(tensor(uint32))), optional(seq(tensor(uint64))), optional(seq(tensor(int8))), optional(seq(tensor(int16))), optional(seq(tensor(int32))), optional(seq(tensor(int64))), optional(seq(tensor(bfloat16))), optional(seq(tensor(float16))), optional(seq(tensor(float))), optional(seq(tensor(double))), optional(seq(tensor(string))), optional(seq(tensor(bool))), optional(seq(tensor(complex64))), optional(seq(tensor(complex128))), optional(seq(tensor(float8e4m3fn))), optional(seq(tensor(float8e4m3fnuz))), optional(seq(tensor(float8e5m2))), optional(seq(tensor(float8e5m2fnuz))), optional(seq(tensor(uint4))), optional(seq(tensor(int4))), optional(seq(tensor(float4e2m1))), optional(seq(tensor(float8e8m0))), optional(seq(tensor(uint2))), optional(seq(tensor(int2))), optional(seq(tensor(float6e2m3))), optional(seq(tensor(float6e3m2))), uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2, float6e2m3, float6e3m2, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128)), seq(tensor(float8e4m3fn)), seq(tensor(float8e4m3fnuz)), seq(tensor(float8e5m2)), seq(tensor(float8e5m2fnuz)), seq(tensor(uint4)), seq(tensor(int4)), seq(tensor(float4e2m1)), seq(tensor(float8e8m0)), seq(tensor(uint2)), seq(tensor(int2)), seq(tensor(float6e2m3)), seq(tensor(float6e3m2))
        B: bool
        https://onnx.ai/onnx/operators/onnx__OptionalHasElement.html"""
    def Or(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Or-7: whether at least one of two elements is true.
        T: bool
        T1: bool
        https://onnx.ai/onnx/operators/onnx__Or.html"""
    def PRelu(
        self,
        X: OperandLike,
        slope: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """PRelu-16: x where it is not negative, slope * x elsewhere.
        T: bfloat16, float16, float, double, uint32, uint64, int32, int64
        https://onnx.ai/onnx/operators/onnx__PRelu.html"""
    def Pad(
        self,
        data: OperandLike,
        pads: OperandLike,
        constant_value: OperandLike | None = None,
        axes: OperandLike | None = None,
        /,
        *,
        mode: str | bytes = 'constant',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Pad-25: adds entries before and after each axis, or removes them where a count is negative.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__Pad.html"""
    def Pow(
        self,
        X: OperandLike,
        Y: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Pow-15: X to the power Y, in X's element type.
        T: int32, int64, float16, float, double, bfloat16
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Pow.html"""
    def QLinearConv(
        self,
        x: OperandLike,
        x_scale: OperandLike,
        x_zero_point: OperandLike,
        w: OperandLike,
        w_scale: OperandLike,
        w_zero_point: OperandLike,
        y_scale: OperandLike,
        y_zero_point: OperandLike,
        B: OperandLike | None = None,
        /,
        *,
        auto_pad: str | bytes = 'NOTSET',
        dilations: Sequence[int] | None = None,
        group: int = 1,
        kernel_shape: Sequence[int] | None = None,
        pads: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """QLinearConv-10: Conv on quantized data and weights with a quantized result; sums are exact and rounded once.
        T1: int8, uint8
        T2: int8, uint8
        T3: int8, uint8
        T4: int32
        https://onnx.ai/onnx/operators/onnx__QLinearConv.html"""
    def QLinearMatMul(
        self,
        a: OperandLike,
        a_scale: OperandLike,
        a_zero_point: OperandLike,
        b: OperandLike,
        b_scale: OperandLike,
        b_zero_point: OperandLike,
        y_scale: OperandLike,
        y_zero_point: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """QLinearMatMul-21: the matrix product of quantized tensors, quantized; the sums are exact and rounded once.
        TS: float, float16, bfloat16
        T1: int8, uint8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T2: int8, uint8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        T3: int8, uint8, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz
        https://onnx.ai/onnx/operators/onnx__QLinearMatMul.html"""
    def QuantizeLinear(
        self,
        x: OperandLike,
        y_scale: OperandLike,
        y_zero_point: OperandLike | None = None,
        /,
        *,
        axis: int = 1,
        block_size: int = 0,
        output_dtype: ElementType = 0,
        precision: int = 0,
        saturate: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """QuantizeLinear-28: y = saturate(x / y_scale + y_zero_point), rounded to the nearest number, ties to even.
        T1: float, float16, bfloat16, int32
        T2: float, float16, bfloat16, int32, float8e8m0
        T3: int8, uint8, int16, uint16, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, uint2, int2, float6e2m3, float6e3m2
        https://onnx.ai/onnx/operators/onnx__QuantizeLinear.html"""
    def RMSNormalization(
        self,
        X: OperandLike,
        scale: OperandLike,
        /,
        *,
        axis: int = -1,
        epsilon: float = 1e-05,
        stash_type: ElementType = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RMSNormalization-23: the axes from `axis` on divided by their root mean square, then scaled.
        T: float16, float, double, bfloat16
        V: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__RMSNormalization.html"""
    @overload
    def RNN(
        self,
        X: OperandLike,
        W: OperandLike,
        R: OperandLike,
        B: OperandLike | None = None,
        sequence_lens: OperandLike | None = None,
        initial_h: OperandLike | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | None = None,
        activation_beta: Sequence[float] | None = None,
        activations: Sequence[str | bytes] = ...,
        clip: float | None = None,
        direction: str | bytes = 'forward',
        hidden_size: int | None = None,
        layout: int = 0,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """RNN-22: a recurrent layer without gates.
        T: bfloat16, float16, float, double
        T1: int32
        https://onnx.ai/onnx/operators/onnx__RNN.html"""
    @overload
    def RNN(
        self,
        X: OperandLike,
        W: OperandLike,
        R: OperandLike,
        B: OperandLike | None = None,
        sequence_lens: OperandLike | None = None,
        initial_h: OperandLike | None = None,
        /,
        *,
        activation_alpha: Sequence[float] | None = None,
        activation_beta: Sequence[float] | None = None,
        activations: Sequence[str | bytes] = ...,
        clip: float | None = None,
        direction: str | bytes = 'forward',
        hidden_size: int | None = None,
        layout: int = 0,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """RNN-22: a recurrent layer without gates.
        T: bfloat16, float16, float, double
        T1: int32
        https://onnx.ai/onnx/operators/onnx__RNN.html"""
    def RandomNormal(
        self,
        *,
        shape: Sequence[int],
        dtype: ElementType = 1,
        mean: float = 0.0,
        scale: float = 1.0,
        seed: float | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RandomNormal-22: numbers drawn from a normal distribution.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__RandomNormal.html"""
    def RandomNormalLike(
        self,
        input: OperandLike,
        /,
        *,
        dtype: ElementType | None = None,
        mean: float = 0.0,
        scale: float = 1.0,
        seed: float | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RandomNormalLike-22: numbers drawn from a normal distribution, in the shape of another tensor.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        T2: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__RandomNormalLike.html"""
    def RandomUniform(
        self,
        *,
        shape: Sequence[int],
        dtype: ElementType = 1,
        high: float = 1.0,
        low: float = 0.0,
        seed: float | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RandomUniform-22: numbers drawn evenly between two ends.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__RandomUniform.html"""
    def RandomUniformLike(
        self,
        input: OperandLike,
        /,
        *,
        dtype: ElementType | None = None,
        high: float = 1.0,
        low: float = 0.0,
        seed: float | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RandomUniformLike-22: numbers drawn evenly between two ends, in the shape of another tensor.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        T2: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__RandomUniformLike.html"""
    def Range(
        self,
        start: OperandLike,
        limit: OperandLike,
        delta: OperandLike,
        /,
        *,
        stash_type: ElementType = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Range-27: numbers from `start` to `limit` (exclusive) in steps of `delta`.
        T: float, double, int16, int32, int64, float16, bfloat16
        https://onnx.ai/onnx/operators/onnx__Range.html"""
    def Reciprocal(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Reciprocal-13: 1 / x.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Reciprocal.html"""
    def ReduceL1(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceL1-18: the sum of the elements' magnitudes along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ReduceL1.html"""
    def ReduceL2(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceL2-18: the root of the sum of squares along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ReduceL2.html"""
    def ReduceLogSum(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceLogSum-28: the logarithm of the sum along axes.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__ReduceLogSum.html"""
    def ReduceLogSumExp(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceLogSumExp-28: the logarithm of the sum of exponentials along axes.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__ReduceLogSumExp.html"""
    def ReduceMax(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceMax-20: the greatest element along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16, uint8, int8, bool
        https://onnx.ai/onnx/operators/onnx__ReduceMax.html"""
    def ReduceMean(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceMean-18: the mean of the elements along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ReduceMean.html"""
    def ReduceMin(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceMin-20: the least element along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16, uint8, int8, bool
        https://onnx.ai/onnx/operators/onnx__ReduceMin.html"""
    def ReduceProd(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceProd-18: the product of the elements along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ReduceProd.html"""
    def ReduceSum(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceSum-13: the sum of the elements along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ReduceSum.html"""
    def ReduceSumSquare(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        keepdims: int = 1,
        noop_with_empty_axes: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReduceSumSquare-18: the sum of squares along axes.
        T: uint32, uint64, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__ReduceSumSquare.html"""
    def RegexFullMatch(
        self,
        X: OperandLike,
        /,
        *,
        pattern: str | bytes | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RegexFullMatch-20: whether an RE2 regular expression matches each whole string.
        T1: string
        T2: bool
        https://onnx.ai/onnx/operators/onnx__RegexFullMatch.html"""
    def Relu(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Relu-14: the positive part.
        T: float, int32, int8, int16, int64, float16, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Relu.html"""
    def Reshape(
        self,
        data: OperandLike,
        shape: OperandLike,
        /,
        *,
        allowzero: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Reshape-25: the same elements, in row-major order, with another shape.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Reshape.html"""
    def Resize(
        self,
        X: OperandLike,
        roi: OperandLike | None = None,
        scales: OperandLike | None = None,
        sizes: OperandLike | None = None,
        /,
        *,
        antialias: int = 0,
        axes: Sequence[int] | None = None,
        coordinate_transformation_mode: str | bytes = 'half_pixel',
        cubic_coeff_a: float = -0.75,
        exclude_outside: int = 0,
        extrapolation_value: float = 0.0,
        keep_aspect_ratio_policy: str | bytes = 'stretch',
        mode: str | bytes = 'nearest',
        nearest_mode: str | bytes = 'round_prefer_floor',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Resize-19: resamples an array to other sizes by nearest, linear or cubic interpolation.
        T1: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        T2: float16, float, double
        https://onnx.ai/onnx/operators/onnx__Resize.html"""
    def ReverseSequence(
        self,
        input: OperandLike,
        sequence_lens: OperandLike,
        /,
        *,
        batch_axis: int = 1,
        time_axis: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ReverseSequence-28: reverses the first elements of each sequence of a batch.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__ReverseSequence.html"""
    def RoiAlign(
        self,
        X: OperandLike,
        rois: OperandLike,
        batch_indices: OperandLike,
        /,
        *,
        coordinate_transformation_mode: str | bytes = 'half_pixel',
        mode: str | bytes = 'avg',
        output_height: int = 1,
        output_width: int = 1,
        sampling_ratio: int = 0,
        spatial_scale: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RoiAlign-22: regions of an image sampled on a grid between pixels, then pooled into a fixed number of bins.
        T1: bfloat16, float16, float, double
        T2: int64
        https://onnx.ai/onnx/operators/onnx__RoiAlign.html"""
    def RotaryEmbedding(
        self,
        X: OperandLike,
        cos_cache: OperandLike,
        sin_cache: OperandLike,
        position_ids: OperandLike | None = None,
        /,
        *,
        interleaved: int = 0,
        num_heads: int | None = None,
        rotary_embedding_dim: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """RotaryEmbedding-23: pairs of elements rotated by an angle that depends on the token's position.
        T: float, float16, bfloat16
        M: int64
        https://onnx.ai/onnx/operators/onnx__RotaryEmbedding.html"""
    def Round(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Round-22: the nearest whole number, of two equally near the even one.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Round.html"""
    def STFT(
        self,
        signal: OperandLike,
        frame_step: OperandLike,
        window: OperandLike | None = None,
        frame_length: OperandLike | None = None,
        /,
        *,
        onesided: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """STFT-17: the short-time Fourier transform, which is the DFT of each frame of a signal.
        T1: float, float16, double, bfloat16
        T2: int32, int64
        https://onnx.ai/onnx/operators/onnx__STFT.html"""
    @overload
    def Scan(
        self,
        *initial_state_and_scan_inputs: OperandLike,
        body: Graph,
        num_scan_inputs: int,
        scan_input_axes: Sequence[int] | None = None,
        scan_input_directions: Sequence[int] | None = None,
        scan_output_axes: Sequence[int] | None = None,
        scan_output_directions: Sequence[int] | None = None,
        outputs: None = None,
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Scan-25: a subgraph run for every slice of the inputs along one axis, with a state carried from slice to slice.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Scan.html"""
    @overload
    def Scan(
        self,
        *initial_state_and_scan_inputs: OperandLike,
        body: Graph,
        num_scan_inputs: int,
        scan_input_axes: Sequence[int] | None = None,
        scan_input_directions: Sequence[int] | None = None,
        scan_output_axes: Sequence[int] | None = None,
        scan_output_directions: Sequence[int] | None = None,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Scan-25: a subgraph run for every slice of the inputs along one axis, with a state carried from slice to slice.
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Scan.html"""
    def ScatterElements(
        self,
        data: OperandLike,
        indices: OperandLike,
        updates: OperandLike,
        /,
        *,
        axis: int = 0,
        reduction: str | bytes = 'none',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ScatterElements-18: replaces entries of one axis, or combines them with updates, each by an index at its own position.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__ScatterElements.html"""
    def ScatterND(
        self,
        data: OperandLike,
        indices: OperandLike,
        updates: OperandLike,
        /,
        *,
        reduction: str | bytes = 'none',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ScatterND-18: replaces entries or slices of a tensor, each at a tuple of indices.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__ScatterND.html"""
    def Selu(
        self,
        X: OperandLike,
        /,
        *,
        alpha: float = 1.6732632,
        gamma: float = 1.050701,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Selu-22: gamma * x where x is positive, gamma * alpha * (exp(x) - 1) elsewhere.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Selu.html"""
    def SequenceAt(
        self,
        input_sequence: OperandLike,
        position: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SequenceAt-11: one element of a sequence.
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, string, bool, complex64, complex128
        I: int32, int64
        https://onnx.ai/onnx/operators/onnx__SequenceAt.html"""
    def SequenceConstruct(
        self,
        *inputs: OperandLike,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SequenceConstruct-11: a sequence of the inputs.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, string, bool, complex64, complex128
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        https://onnx.ai/onnx/operators/onnx__SequenceConstruct.html"""
    def SequenceEmpty(
        self,
        *,
        dtype: ElementType | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SequenceEmpty-11: a sequence without elements.
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        https://onnx.ai/onnx/operators/onnx__SequenceEmpty.html"""
    def SequenceErase(
        self,
        input_sequence: OperandLike,
        position: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SequenceErase-11: a sequence with one element removed.
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        I: int32, int64
        https://onnx.ai/onnx/operators/onnx__SequenceErase.html"""
    def SequenceInsert(
        self,
        input_sequence: OperandLike,
        tensor: OperandLike,
        position: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SequenceInsert-11: a sequence with a tensor inserted.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, string, bool, complex64, complex128
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        I: int32, int64
        https://onnx.ai/onnx/operators/onnx__SequenceInsert.html"""
    def SequenceLength(
        self,
        input_sequence: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SequenceLength-11: the number of elements of a sequence.
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        I: int64
        https://onnx.ai/onnx/operators/onnx__SequenceLength.html"""
    @overload
    def SequenceMap(
        self,
        input_sequence: OperandLike,
        *additional_inputs: OperandLike,
        body: Graph,
        outputs: None = None,
        name: str = "",
    ) -> tuple[Operand, ...]:
        """SequenceMap-17: a subgraph applied to each element of sequences.
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, string, bool, complex64, complex128, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        https://onnx.ai/onnx/operators/onnx__SequenceMap.html"""
    @overload
    def SequenceMap(
        self,
        input_sequence: OperandLike,
        *additional_inputs: OperandLike,
        body: Graph,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """SequenceMap-17: a subgraph applied to each element of sequences.
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        V: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, string, bool, complex64, complex128, seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        https://onnx.ai/onnx/operators/onnx__SequenceMap.html"""
    def Shape(
        self,
        data: OperandLike,
        /,
        *,
        end: int | None = None,
        start: int = 0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Shape-25: the sizes of a tensor as a tensor.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        T1: int64
        https://onnx.ai/onnx/operators/onnx__Shape.html"""
    def Shrink(
        self,
        input: OperandLike,
        /,
        *,
        bias: float = 0.0,
        lambd: float = 0.5,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Shrink-9: bias added below -lambd and subtracted above lambd; 0 in between.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Shrink.html"""
    def Sigmoid(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Sigmoid-13: 1 / (1 + exp(-x)).
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Sigmoid.html"""
    def Sign(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Sign-13: -1, 0 or 1, as the element is below, at or above zero.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Sign.html"""
    def Sin(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Sin-22: the sine of x, in radians.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Sin.html"""
    def Sinh(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Sinh-22: the hyperbolic sine of x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Sinh.html"""
    def Size(
        self,
        data: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Size-25: the number of elements of a tensor.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        T1: int64
        https://onnx.ai/onnx/operators/onnx__Size.html"""
    def Slice(
        self,
        data: OperandLike,
        starts: OperandLike,
        ends: OperandLike,
        axes: OperandLike | None = None,
        steps: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Slice-13: the part of a tensor between starts and ends.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__Slice.html"""
    def Softmax(
        self,
        input: OperandLike,
        /,
        *,
        axis: int = -1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Softmax-13: exponentials normalized to sum to one.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Softmax.html"""
    @overload
    def SoftmaxCrossEntropyLoss(
        self,
        scores: OperandLike,
        labels: OperandLike,
        weights: OperandLike | None = None,
        /,
        *,
        ignore_index: int | None = None,
        reduction: str | bytes = 'mean',
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """SoftmaxCrossEntropyLoss-13: the negative logarithm of the softmax of the target class's score.
        T: float16, float, double, bfloat16
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__SoftmaxCrossEntropyLoss.html"""
    @overload
    def SoftmaxCrossEntropyLoss(
        self,
        scores: OperandLike,
        labels: OperandLike,
        weights: OperandLike | None = None,
        /,
        *,
        ignore_index: int | None = None,
        reduction: str | bytes = 'mean',
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """SoftmaxCrossEntropyLoss-13: the negative logarithm of the softmax of the target class's score.
        T: float16, float, double, bfloat16
        Tind: int32, int64
        https://onnx.ai/onnx/operators/onnx__SoftmaxCrossEntropyLoss.html"""
    def Softplus(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Softplus-22: log(exp(x) + 1).
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Softplus.html"""
    def Softsign(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Softsign-22: x / (1 + |x|).
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Softsign.html"""
    def SpaceToDepth(
        self,
        input: OperandLike,
        /,
        *,
        blocksize: int,
        mode: str | bytes = 'DCR',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SpaceToDepth-28: rearranges blocks of pixels into channels.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__SpaceToDepth.html"""
    @overload
    def Split(
        self,
        input: OperandLike,
        split: OperandLike | None = None,
        /,
        *,
        axis: int = 0,
        num_outputs: int | None = None,
        outputs: None = None,
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Split-18: splits a tensor into parts along one axis.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Split.html"""
    @overload
    def Split(
        self,
        input: OperandLike,
        split: OperandLike | None = None,
        /,
        *,
        axis: int = 0,
        num_outputs: int | None = None,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Split-18: splits a tensor into parts along one axis.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Split.html"""
    def SplitToSequence(
        self,
        input: OperandLike,
        split: OperandLike | None = None,
        /,
        *,
        axis: int = 0,
        keepdims: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SplitToSequence-24: a tensor split along one axis into a sequence of tensors.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        I: int32, int64
        S: seq(tensor(uint8)), seq(tensor(uint16)), seq(tensor(uint32)), seq(tensor(uint64)), seq(tensor(int8)), seq(tensor(int16)), seq(tensor(int32)), seq(tensor(int64)), seq(tensor(bfloat16)), seq(tensor(float16)), seq(tensor(float)), seq(tensor(double)), seq(tensor(string)), seq(tensor(bool)), seq(tensor(complex64)), seq(tensor(complex128))
        https://onnx.ai/onnx/operators/onnx__SplitToSequence.html"""
    def Sqrt(
        self,
        X: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Sqrt-13: the square root of x.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Sqrt.html"""
    def Squeeze(
        self,
        data: OperandLike,
        axes: OperandLike | None = None,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Squeeze-25: removes axes of size 1.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Squeeze.html"""
    def StringConcat(
        self,
        X: OperandLike,
        Y: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """StringConcat-20: elementwise concatenation of the strings of two tensors.
        T: string
        https://onnx.ai/onnx/operators/onnx__StringConcat.html"""
    def StringNormalizer(
        self,
        X: OperandLike,
        /,
        *,
        case_change_action: str | bytes = 'NONE',
        is_case_sensitive: int = 0,
        locale: str | bytes | None = None,
        stopwords: Sequence[str | bytes] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """StringNormalizer-10: removes stop words from a list of strings and changes the case of the rest.
        https://onnx.ai/onnx/operators/onnx__StringNormalizer.html"""
    def StringSplit(
        self,
        X: OperandLike,
        /,
        *,
        delimiter: str | bytes | None = None,
        maxsplit: int | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> tuple[Operand, Operand]:
        """StringSplit-20: splits each string into substrings along a new last axis.
        T1: string
        T2: string
        T3: int64
        https://onnx.ai/onnx/operators/onnx__StringSplit.html"""
    def Sub(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Sub-14: A - B; integers wrap around.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Sub.html"""
    def Sum(
        self,
        *data_0: OperandLike,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Sum-13: the inputs added up, element by element.
        T: float16, float, double, bfloat16
        https://onnx.ai/onnx/operators/onnx__Sum.html"""
    def SwiGLU(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        alpha: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """SwiGLU-28: Swish of A, times B.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__SwiGLU.html"""
    def Swish(
        self,
        X: OperandLike,
        /,
        *,
        alpha: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Swish-24: x * sigmoid(alpha * x).
        T: float16, float, bfloat16, double
        https://onnx.ai/onnx/operators/onnx__Swish.html"""
    def Tan(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Tan-22: the tangent of x, in radians.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Tan.html"""
    def Tanh(
        self,
        input: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Tanh-13: the hyperbolic tangent of x.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__Tanh.html"""
    def TensorScatter(
        self,
        past_cache: OperandLike,
        update: OperandLike,
        write_indices: OperandLike | None = None,
        /,
        *,
        axis: int = -2,
        mode: str | bytes = 'linear',
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """TensorScatter-24: writes an update into a key or value cache, at a separate position for each sample of the batch.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0
        https://onnx.ai/onnx/operators/onnx__TensorScatter.html"""
    def TfIdfVectorizer(
        self,
        X: OperandLike,
        /,
        *,
        max_gram_length: int,
        max_skip_count: int,
        min_gram_length: int,
        mode: str | bytes,
        ngram_counts: Sequence[int],
        ngram_indexes: Sequence[int],
        pool_int64s: Sequence[int] | None = None,
        pool_strings: Sequence[str | bytes] | None = None,
        weights: Sequence[float] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """TfIdfVectorizer-9: the number of occurrences of n-grams of a pool in rows of tokens, optionally weighted.
        T: string, int32, int64
        T1: float
        https://onnx.ai/onnx/operators/onnx__TfIdfVectorizer.html"""
    def ThresholdedRelu(
        self,
        X: OperandLike,
        /,
        *,
        alpha: float = 1.0,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """ThresholdedRelu-22: x where it is greater than alpha, 0 elsewhere.
        T: bfloat16, float16, float, double
        https://onnx.ai/onnx/operators/onnx__ThresholdedRelu.html"""
    def Tile(
        self,
        input: OperandLike,
        repeats: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Tile-13: repeats a tensor along its axes.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        T1: int64
        https://onnx.ai/onnx/operators/onnx__Tile.html"""
    def TopK(
        self,
        X: OperandLike,
        K: OperandLike,
        /,
        *,
        axis: int = -1,
        largest: int = 1,
        sorted: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> tuple[Operand, Operand]:
        """TopK-24: the k largest or smallest elements along an axis, and their indices.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, float, double, bfloat16
        I: int64
        https://onnx.ai/onnx/operators/onnx__TopK.html"""
    def Transpose(
        self,
        data: OperandLike,
        /,
        *,
        perm: Sequence[int] | None = None,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Transpose-25: permutes the axes of a tensor.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Transpose.html"""
    def Trilu(
        self,
        input: OperandLike,
        k: OperandLike | None = None,
        /,
        *,
        upper: int = 1,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Trilu-14: the upper or lower triangle of matrices, with zeros elsewhere.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Trilu.html"""
    @overload
    def Unique(
        self,
        X: OperandLike,
        /,
        *,
        axis: int | None = None,
        sorted: int = 1,
        outputs: None = None,
        name: str = "",
    ) -> Operand:
        """Unique-28: the distinct elements of a tensor, or the distinct slices of an axis.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Unique.html"""
    @overload
    def Unique(
        self,
        X: OperandLike,
        /,
        *,
        axis: int | None = None,
        sorted: int = 1,
        outputs: int | Sequence[str],
        name: str = "",
    ) -> tuple[Operand, ...]:
        """Unique-28: the distinct elements of a tensor, or the distinct slices of an axis.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Unique.html"""
    def Unsqueeze(
        self,
        data: OperandLike,
        axes: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Unsqueeze-25: inserts axes of size 1.
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128, float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, uint4, int4, float4e2m1, float8e8m0, uint2, int2
        https://onnx.ai/onnx/operators/onnx__Unsqueeze.html"""
    def Where(
        self,
        condition: OperandLike,
        X: OperandLike,
        Y: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Where-16: X where the condition holds, Y elsewhere.
        B: bool
        T: uint8, uint16, uint32, uint64, int8, int16, int32, int64, bfloat16, float16, float, double, string, bool, complex64, complex128
        https://onnx.ai/onnx/operators/onnx__Where.html"""
    def Xor(
        self,
        A: OperandLike,
        B: OperandLike,
        /,
        *,
        outputs: str | Sequence[str] | None = None,
        name: str = "",
    ) -> Operand:
        """Xor-7: whether exactly one of two elements is true.
        T: bool
        T1: bool
        https://onnx.ai/onnx/operators/onnx__Xor.html"""
