"""Layers of one or two operators, large enough that blocks of sums, partial tiles and all algorithms occur.

A line has the inputs of a graph and its body.  Inputs whose names begin with c, d or e are constants; those whose names have a p are
between 0.2 and 0.9, other floats are normally distributed.  Integers of 32 and 64 bits are between 0 and 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.io.text import from_text
from sardonyx._src.ir import Array, Model, TensorType
from sardonyx._src.ir.tensors import Tensor

OPSET = 27
HEADER = f'<ir_version: 13, opset_import: ["": {OPSET}, "com.microsoft": 1, "ai.onnx.ml": 5]>'
OUTPUT = re.compile(r"\b([yz]\d?)\b(?=[^(]*=)")
PRODUCTS = """
float[1,777] x, float[777,1030] c | y = MatMul(x, c)
float[3,1500] x, float[1500,70] c | y = MatMul(x, c)
float[40,1111] x, float[1111,130] c | y = MatMul(x, c)
float[129,600] x, float[600,513] c | y = MatMul(x, c)
float[50,800] x, float[800,3] c | y = MatMul(x, c)
float[50,800] x, float[800] c | y = MatMul(x, c)
float[1,777] x, float[777,1030] w | y = MatMul(x, w)
float[5,1500] x, float[1500,70] w | y = MatMul(x, w)
float[70,1111] x, float[1111,130] w | y = MatMul(x, w)
float[70,1111] x, float[1111] w | y = MatMul(x, w)
float[1111] x, float[1111,40] w | y = MatMul(x, w)
float[3,20,700] x, float[3,700,33] w | y = MatMul(x, w)
float[3,1,700] x, float[3,700,33] w | y = MatMul(x, w)
float[900,20] x, float[900,60] w, float[60] b | y = Gemm<transA=1,alpha=0.3,beta=0.7>(x, w, b)
float[20,900] x, float[60,900] w | y = Gemm<transB=1>(x, w)
float[20,900] x, float[60,900] c, float[60] d | h = Gemm<transB=1>(x, c, d) y = Gelu(h)
double[33,700] x, double[700,45] c | y = MatMul(x, c)
double[33,700] x, double[700,45] w | y = MatMul(x, w)
float16[33,1111] x, float16[1111,130] c | y = MatMul(x, c)
float16[33,1111] x, float16[1111,130] w | y = MatMul(x, w)
bfloat16[33,1111] x, bfloat16[1111,130] c | y = MatMul(x, c)
bfloat16[2,1111] x, bfloat16[1111,130] c | y = MatMul(x, c)
bfloat16[33,1111] x, bfloat16[1111,130] w | y = MatMul(x, w)
bfloat16[7,1024] x, bfloat16[1024,130] c | y = MatMul(x, c)
bfloat16[40,1376] x, bfloat16[1376,200] c, bfloat16[200] d | y = Gemm(x, c, d)
bfloat16[40,3000] x, bfloat16[3000,300] c | h = MatMul(x, c) y = Cast<to=1>(h)
bfloat16[40,11008] x, bfloat16[11008,70] c | h = MatMul(x, c) y = Gelu(h)
bfloat16[40,800] x, bfloat16[800,3] c | y = MatMul(x, c)
float[4,6,30] x, float[6,30,20] w, int64[6] i | y = Einsum<equation="bhd,hde->bhe">(x, w)
uint8[33,700] x, int8[700,45] c | y = MatMulInteger(x, c)
int8[33,700] x, int8[700,45] w | y = MatMulInteger(x, w)
float[33,700] x, int8[700,45] c, float[45] d | q, s, o = DynamicQuantizeLinear(x) h = MatMulInteger(q, c, o) f = Cast<to=1>(h) g = Mul(f, s) y = Mul(g, d)
float[4,512] x, uint8[96,16,16] c, float[1536] cp | y = com.microsoft.MatMulNBits<K=512,N=96,bits=4,block_size=32,accuracy_level=4>(x, c, cp)
float[1,512] x, uint8[96,16,16] c, float[1536] cp | y = com.microsoft.MatMulNBits<K=512,N=96,bits=4,block_size=32>(x, c, cp)
float[40,512] x, uint8[300,16,16] c, float[4800] cp | y = com.microsoft.MatMulNBits<K=512,N=300,bits=4,block_size=32>(x, c, cp)
float[40,2048] x, uint8[300,64,16] c, float[19200] cp | y = com.microsoft.MatMulNBits<K=2048,N=300,bits=4,block_size=32>(x, c, cp)
float[3,2048] x, uint8[300,64,16] c, float[19200] cp | y = com.microsoft.MatMulNBits<K=2048,N=300,bits=4,block_size=32,accuracy_level=4>(x, c, cp)
float[3,2048] x, int8[2048,300] c, float[64,300] cp | w = DequantizeLinear<axis=0,block_size=32>(c, cp) y = MatMul(x, w)
float[50,2048] x, int8[2048,300] c, float[64,300] cp | w = DequantizeLinear<axis=0,block_size=32>(c, cp) y = MatMul(x, w)
"""
CONVOLUTIONS = """
float[1,64,28,28] x, float[64,64,3,3] c, float[64] d | y = Conv<pads=[1,1,1,1]>(x, c, d)
float[1,3,61,61] x, float[24,3,3,3] c | h = Conv<pads=[1,1,1,1],strides=[2,2]>(x, c) y = Relu(h)
float[1,20,13,13] x, float[30,20,3,3] c | y = Conv<pads=[1,1,1,1]>(x, c)
float[2,96,14,14] x, float[96,96,3,3] c | y = Conv<pads=[1,1,1,1]>(x, c)
float[1,256,7,7] x, float[256,256,3,3] c | y = Conv<pads=[1,1,1,1]>(x, c)
float[1,40,20,20] x, float[50,40,5,5] c | y = Conv<pads=[2,2,2,2]>(x, c)
float[1,600,14,14] x, float[100,600,1,1] c | y = Conv(x, c)
float[1,130,30,30] x, float[3,130,5,5] c | y = Conv<pads=[2,2,2,2]>(x, c)
float[1,130,30,30] x, float[1,130,1,1] c | y = Conv(x, c)
float[1,100,30,30] x, float[100,1,3,3] c | y = Conv<group=100,pads=[1,1,1,1]>(x, c)
float[1,100,30,30] x, float[100,1,5,5] c | y = Conv<group=100,pads=[2,2,2,2],strides=[2,2]>(x, c)
float[1,64,20,20] x, float[64,4,3,3] c | y = Conv<group=16,pads=[1,1,1,1]>(x, c)
float[1,72,20,20] x, float[72,9,3,3] c | y = Conv<group=8,pads=[1,1,1,1]>(x, c)
float[1,48,200] x, float[60,48,9] c | y = Conv<pads=[4,4]>(x, c)
float[1,20,9,9,9] x, float[24,20,3,3,3] c | y = Conv<pads=[1,1,1,1,1,1]>(x, c)
float[1,40,20,20] x, float[50,40,3,3] w | y = Conv<pads=[1,1,1,1]>(x, w)
float[1,40,20,20] x, float[40,1,3,3] w | y = Conv<group=40,pads=[1,1,1,1]>(x, w)
float[1,64,20,20] x, float[64,4,3,3] w | y = Conv<group=16,pads=[1,1,1,1]>(x, w)
float[1,70,11,11] x, float[70,40,4,4] c | y = ConvTranspose<strides=[2,2],pads=[1,1,1,1]>(x, c)
float16[1,64,28,28] x, float16[64,64,3,3] c | y = Conv<pads=[1,1,1,1]>(x, c)
bfloat16[1,64,28,28] x, bfloat16[64,64,3,3] c | y = Conv<pads=[1,1,1,1]>(x, c)
double[1,20,14,14] x, double[30,20,3,3] c | y = Conv<pads=[1,1,1,1]>(x, c)
uint8[1,40,20,20] x, int8[50,40,3,3] c | y = ConvInteger<pads=[1,1,1,1]>(x, c)
float[1,100,30,30] x, float[30,100,1,1] c, float[30,1,3,3] e | h = Conv(x, c) g = Relu(h) y = Conv<group=30,pads=[1,1,1,1]>(g, e)
float[1,8,12,12] x, float[10,8,3,3] c, float[1,18,10,10] o | y = DeformConv<kernel_shape=[3,3]>(x, c, o)
float[2,30,50] x, float[30,1,4] c | y, z = CausalConvWithState(x, c)
"""
REDUCTIONS = """
float[64,1] x | y = Softmax<axis=0>(x)
float[30,777] x | y = Softmax(x)
float[777,30] x | y = Softmax<axis=0>(x)
float[5,300,40] x | y = Softmax<axis=1>(x)
float[30,777] x | y = LogSoftmax(x)
float[777,30] x | y = LogSoftmax<axis=0>(x)
double[30,777] x | y = Softmax(x)
float16[30,777] x | y = Softmax(x)
float[30,777] x | y = ReduceSum<keepdims=0>(x)
float[9,5000] x | a = Constant<value_ints=[1]>() y = ReduceSum<keepdims=0>(x, a)
float[5000,9] x | a = Constant<value_ints=[0]>() y = ReduceSum<keepdims=0>(x, a)
float[5000,39] x | a = Constant<value_ints=[0]>() y = ReduceMean<keepdims=0>(x, a)
float[7,300,39] x | a = Constant<value_ints=[1]>() y = ReduceMean<keepdims=0>(x, a)
float[7,300,39] x | a = Constant<value_ints=[0,2]>() y = ReduceL2<keepdims=0>(x, a)
float[300,10] x | a = Constant<value_ints=[1]>() y = ReduceSum<keepdims=0>(x, a)
float[8,10] x | a = Constant<value_ints=[1]>() y = ReduceSum<keepdims=0>(x, a)
float[30,777] x | a = Constant<value_ints=[1]>() y = ReduceLogSumExp(x, a)
float[777,30] x | a = Constant<value_ints=[0]>() y = ReduceLogSumExp(x, a)
float[30,777] p | a = Constant<value_ints=[1]>() y = ReduceProd(p, a)
float[30,777] x | a = Constant<value_ints=[1]>() y = ReduceSumSquare(x, a)
float[30,777] x | a = Constant<value_ints=[1]>() y = ReduceL1(x, a)
double[30,777] x | a = Constant<value_ints=[1]>() y = ReduceSum(x, a)
double[777,30] x | a = Constant<value_ints=[0]>() y = ReduceSum(x, a)
float16[30,777] x | a = Constant<value_ints=[1]>() y = ReduceSum(x, a)
bfloat16[777,30] x | a = Constant<value_ints=[0]>() y = ReduceMean(x, a)
float[30,777] x | y = ArgMax<axis=1>(x)
float[30,777] x | a = Constant<value=int64 {1}>() y = CumSum(x, a)
float[777,30] x | a = Constant<value=int64 {0}>() y = CumSum(x, a)
float[7,300,39] x | a = Constant<value=int64 {1}>() y = CumSum<reverse=1>(x, a)
float[30,777] x, float[777] s, float[777] b | y, m, z = LayerNormalization(x, s, b)
float[30,30] x, float[30] s | y = RMSNormalization(x, s)
float[30,770] x, float[770] s | y = RMSNormalization(x, s)
float16[30,777] x, float16[777] s | y = LayerNormalization(x, s)
double[30,777] x, double[777] s | y = LayerNormalization(x, s)
float[30,777] x, float[30,777] r, float[777] s | h = Add(x, r) y = LayerNormalization(h, s) z = Identity(h)
float[2,40,19,23] x, float[40] s, float[40] b | y = GroupNormalization<num_groups=8>(x, s, b)
float[2,40,19,23] x, float[40] s, float[40] b | y = InstanceNormalization(x, s, b)
float[2,40,19,23] x, float[40] s, float[40] b, float[40] m, float[40] p | y, z, z1 = BatchNormalization<training_mode=1>(x, s, b, m, p)
float[2,40,19,23] x | y = MeanVarianceNormalization(x)
float[30,777] x | y = LpNormalization(x)
float[777,30] x | y = LpNormalization<axis=0>(x)
float[2,40,19,23] x | y = LRN<size=5>(x)
float[2,40,19,23] x | y = GlobalAveragePool(x)
float[2,40,119,123] x | y = GlobalAveragePool(x)
float[1,40,19,19] x, float[40,40,1,1] c | h = Conv(x, c) y = GlobalAveragePool(h)
float[1,40,119,119] x, float[40,40,1,1] c | h = Conv(x, c) y = GlobalAveragePool(h)
float[1,40,119,119] x, float[40,40,1,1] c, float[40] s | h = Conv(x, c) y = InstanceNormalization(h, s, s)
float[1,40,59,59] x, float[40,40,1,1] c, float[40] s | h = Conv(x, c) y = GroupNormalization<num_groups=8>(h, s, s)
float[1,40,59,59] x, float[40,40,1,1] c, float[40] s | h = Conv(x, c) y = GroupNormalization<num_groups=20>(h, s, s)
float[2,40,19,23] x | y = AveragePool<kernel_shape=[5,5],pads=[2,2,2,2],strides=[2,2]>(x)
float[1,40,19,19] x, float[40,40,1,1] c | h = Conv(x, c) y = AveragePool<kernel_shape=[5,5],pads=[2,2,2,2]>(h)
float[2,40,19,23] x | y = LpPool<kernel_shape=[3,3]>(x)
float[1,5,9,9,9] x | y = AveragePool<kernel_shape=[3,3,3]>(x)
float[12,12,12] x | y = Det(x)
float[4,300] x, int64[4,100] i, float[4,100] u | y = ScatterElements<axis=1,reduction="add">(x, i, u)
float[7,300] x, int64[50,1] i, float[50,300] u | y = ScatterND<reduction="add">(x, i, u)
float[7,300] x, int64[50,1] i, float[50,300] u | y = ScatterND<reduction="mul">(x, i, u)
float[3,700] x | a = Constant<value=int64 {1}>() n = Constant<value_ints=[20]>() y, z = TopK(x, n)
"""
SEQUENCES = """
float[9,1,30] x, float[1,160,30] c, float[1,160,40] d | y, z = LSTM<hidden_size=40>(x, c, d)
float[9,5,30] x, float[2,160,30] c, float[2,160,40] d | y, z = LSTM<hidden_size=40,direction="bidirectional">(x, c, d)
float[9,2,30] x, float[1,120,30] c, float[1,120,40] d | y, z = GRU<hidden_size=40>(x, c, d)
float[9,2,30] x, float[1,111,30] c, float[1,111,37] d | y, z = GRU<hidden_size=37,linear_before_reset=1>(x, c, d)
float[9,2,30] x, float[1,37,30] c, float[1,37,37] d | y, z = RNN<hidden_size=37>(x, c, d)
double[9,2,30] x, double[1,148,30] c, double[1,148,37] d | y, z = LSTM<hidden_size=37>(x, c, d)
float[5,1,30] x, float[1,2000,30] c, float[1,2000,500] d | y, z = LSTM<hidden_size=500>(x, c, d)
float[5,2,30] x, float[1,1500,30] c, float[1,1500,500] d | y, z = GRU<hidden_size=500>(x, c, d)
float[9,2,30] x, float[1,160,30] w, float[1,160,40] r | y, z = LSTM<hidden_size=40>(x, w, r)
float[1,2,1,64] q, float[1,2,300,64] k, float[1,2,300,67] v | y = Attention(q, k, v)
float[1,2,3,20] q, float[1,2,300,20] k, float[1,2,300,67] v | y = Attention<is_causal=1>(q, k, v)
float[1,8,2,64] q, float[1,2,1500,64] k, float[1,2,1500,64] v | y = Attention(q, k, v)
float[1,8,8,64] q, float[1,2,700,64] k, float[1,2,700,64] v | y = Attention<softcap=2.0>(q, k, v)
float[1,2,100,64] q, float[1,2,300,64] k, float[1,2,300,67] v | y = Attention(q, k, v)
float[1,2,200,24] q, float[1,2,200,24] k, float[1,2,200,24] v | y = Attention<is_causal=1>(q, k, v)
float[1,2,200,24] q, float[1,2,200,24] k, float[1,2,200,24] v | y = Attention<is_causal=1,left_window_size=37>(q, k, v)
float[1,2,300,24] q, float[1,2,300,24] k, float[1,2,300,24] v | y = Attention<is_causal=1,left_window_size=150>(q, k, v)
float[1,2,300,24] q, float[1,2,300,24] k, float[1,2,300,24] v | y = Attention<left_window_size=139,right_window_size=21>(q, k, v)
float[1,2,5,24] q, float[1,2,300,24] k, float[1,2,300,24] v | y, h, g, z = Attention<qk_matmul_output_mode=3>(q, k, v)
float[1,2,50,24] q, float[1,2,70,24] k, float[1,2,70,24] v, float[50,70] m | y = Attention(q, k, v, m)
float[2,33,4,40] x, float[7,20] c, float[7,20] d, int64[2,4] i | y = RotaryEmbedding(x, c, d, i)
float[2,33,160] q, float[2,33,160] k, float[2,33,120] v | y, z = LinearAttention<q_num_heads=4,kv_num_heads=4,update_rule="linear">(q, k, v)
"""
IMAGES = """
float[1,3,30,30] x | r = Constant<value=float[4] {1.0, 1.0, 1.7, 2.3}>() y = Resize<mode="linear">(x, , r)
float[1,30,30,30] x | r = Constant<value=float[4] {1.0, 1.0, 1.7, 2.3}>() y = Resize<mode="cubic">(x, , r)
float[1,3,60,60] x | r = Constant<value=float[4] {1.0, 1.0, 0.3, 0.4}>() y = Resize<mode="linear",antialias=1>(x, , r)
float[1,3,60,60] x | r = Constant<value=float[4] {1.0, 1.0, 0.3, 0.4}>() y = Resize<mode="cubic",antialias=1>(x, , r)
float[1,20,30,30] x, float[1,12,12,2] g | y = GridSample(x, g)
float[1,20,30,30] x, float[1,12,12,2] g | y = GridSample<mode="cubic">(x, g)
float[1,20,30,30] x, float[4,4] p, int64[4] i | b = Constant<value=int64[4] {0,0,0,0}>() y = RoiAlign<output_height=5,output_width=5,spatial_scale=9.0>(x, p, b)
float[1,400,1] x | y = DFT(x)
float[1,331,1] x | y = DFT(x)
float[1,64,2] x | y = DFT<inverse=1>(x)
float[1,400] x, float[64] w | n = Constant<value=int64 {16}>() y = STFT(x, n, w)
float[1,180,25] x | s = Constant<value_ints=[20,20]>() k = Constant<value_ints=[3,3]>() d = Identity(x)  y = ReduceSum<keepdims=0>(d)
"""
FUNCTIONS = (
    "Exp Erf Tanh Sigmoid Sin Cos Tan Atan Sinh Cosh Asinh Softplus Softsign Mish Gelu Elu Selu Celu HardSwish Swish Log Sqrt "
    "Reciprocal Acos Asin Atanh Round Ceil Floor"
).split()
CONSTANTS = """
float[40,30] x, float[40,777] c, float[777,30] d | h = MatMul(c, d) y = Add(x, h)
float[8,16,16,16] x, float[1,8,16,16] c, float[16,8,3,3] d | h = Conv<pads=[1,1,1,1]>(c, d) y = Add(x, h)
float[1,777] x, float[777,60] c, float[60,90] d | h = MatMul(c, d) y = MatMul(x, h)
float[40,77] x, float[40,77] cp, float[40,77] dp | h = Pow(cp, dp) y = Mul(x, h)
float[900] x, float[900] c | h = Exp(c) s = ReduceSum(h) y = Mul(x, s)
float[900] x, float[900] cp | h = Log(cp) f = Atan(h) t = Tanh(f) s = Softmax(t) y = Mul(x, s)
float[5] x, float[5] cp | o = Constant<value = float {1}>() g = Add(cp, o) h = Acosh(g) y = Mul(x, h)
float[9] x, float[9] cp | h = Log(cp) i = Cast<to=7>(h) f = Cast<to=1>(i) g = Add(f, h) y = Mul(x, g)
double[40,77] x, double[40,77] c | h = Exp(c) y = Mul(x, h)
double[40,20] x, double[40,1777] c, double[1777,20] d | h = MatMul(c, d) y = Add(x, h)
float16[40,20] x, float16[40,777] c, float16[777,20] d | h = MatMul(c, d) y = Add(x, h)
float[512] x | s = Constant<value = int64 {512}>() h = HannWindow(s) y = Mul(x, h)
float[4,6,20] x, float[4,6,30] c, float[6,30,20] d | h = Einsum<equation="bhd,hde->bhe">(c, d) y = Add(x, h)
"""
POSITIVE = {"Log", "Sqrt", "Acos", "Asin", "Atanh"}


@dataclass(frozen=True)
class Layer:
    """A graph: its inputs, as a signature, and its body."""

    signature: str
    body: str

    def __str__(self) -> str:
        return f"{self.body} of {self.signature}"

    def load(self) -> tuple[Model, dict[str, Array]]:
        """The model, and the feeds of its inputs."""
        names = list(dict.fromkeys(OUTPUT.findall(self.body)))
        outputs = ", ".join(f"float {name}" for name in names)
        model = from_text(f"{HEADER} g ({self.signature}) => ({outputs}) {{ {self.body} }}")
        rng, feeds = np.random.default_rng(1), {}
        for value in model.graph.outputs:
            value.type = None
        for value in list(model.graph.inputs):
            assert isinstance(value.type, TensorType)
            array = draw(rng, value.name, value.type)
            if value.name[0] in "cde":
                model.graph.remove_input(value)
                value.initializer = Tensor.of(array, value.type.dtype, value.name)
                model.graph.add_initializer(value)
            else:
                feeds[value.name] = array
        return model, feeds


def draw(rng: np.random.Generator, name: str, type_: TensorType) -> Array:
    shape, dtype = [n for n in type_.shape or () if isinstance(n, int)], type_.dtype
    if dtype in (DataType.INT8, DataType.UINT8):
        limits = np.iinfo(dtype.numpy)
        return rng.integers(limits.min, limits.max, shape, dtype.numpy, endpoint=True)
    if dtype in (DataType.INT32, DataType.INT64):
        return rng.integers(0, 7, shape, dtype.numpy)
    drawn = rng.uniform(0.2, 0.9, shape) if "p" in name else rng.standard_normal(shape)
    return drawn.astype(dtype.numpy)


def layers() -> Iterator[Layer]:
    for table in (PRODUCTS, CONVOLUTIONS, REDUCTIONS, SEQUENCES, IMAGES, CONSTANTS):
        for line in table.strip().splitlines():
            signature, body = line.split(" | ")
            yield Layer(signature, body)
    for function in FUNCTIONS:
        name = "p" if function in POSITIVE else "x"
        for element in ("float", "double", "float16", "bfloat16") if function != "Celu" else ("float",):
            yield Layer(f"{element}[9,333] {name}", f"y = {function}({name})")
    for element in ("float", "double"):
        yield Layer(f"{element}[9,333] p, {element}[9,333] x", "y = Pow(p, x)")
