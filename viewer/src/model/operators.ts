// Families of operators, which pictures tell apart by colour.

export type Family = "product" | "activation" | "normalisation" | "pooling" | "movement" | "arithmetic" | "reduction" | "control" | "quantisation" | "recurrent" | "learning" | "other";

const FAMILIES: [Family, string][] = [
  ["product", "Conv ConvTranspose ConvInteger DeformConv CausalConvWithState Gemm MatMul MatMulInteger QLinearConv QLinearMatMul Einsum Attention FlexAttention LinearAttention MultiHeadAttention FusedMatMul FusedConv MatMulNBits"],
  ["activation", "Relu LeakyRelu PRelu ThresholdedRelu Sigmoid HardSigmoid HardSwish Tanh Softmax LogSoftmax Hardmax Elu Selu Celu Gelu FastGelu Mish Swish Softplus Softsign Shrink Clip"],
  ["normalisation", "BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization SimplifiedLayerNormalization SkipLayerNormalization LRN LpNormalization MeanVarianceNormalization Dropout"],
  ["pooling", "MaxPool AveragePool GlobalAveragePool GlobalMaxPool LpPool GlobalLpPool MaxRoiPool RoiAlign Resize Upsample GridSample MaxUnpool"],
  ["movement", "Reshape Transpose Flatten Squeeze Unsqueeze Concat Split Slice Gather GatherElements GatherND Scatter ScatterElements ScatterND TensorScatter Pad Tile Expand Shape Size Identity Cast CastLike DepthToSpace SpaceToDepth Col2Im CenterCropPad ReverseSequence Compress Trilu OneHot Constant ConstantOfShape EyeLike Range NonZero BitCast"],
  ["reduction", "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare ArgMax ArgMin TopK CumSum CumProd NonMaxSuppression Unique"],
  ["arithmetic", "Add Sub Mul Div Pow Sqrt Exp Log Neg Abs Sum Mean Max Min Mod Reciprocal Sign Floor Ceil Round Erf Sin Cos Tan Where Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Not IsNaN IsInf BitShift BitwiseAnd BitwiseOr BitwiseXor BitwiseNot"],
  ["control", "If Loop Scan SequenceMap SequenceConstruct SequenceAt SequenceInsert SequenceErase SequenceEmpty SequenceLength SplitToSequence ConcatFromSequence Optional OptionalGetElement OptionalHasElement"],
  ["quantisation", "QuantizeLinear DequantizeLinear DynamicQuantizeLinear"],
  ["recurrent", "LSTM GRU RNN"],
  ["learning", "Gradient Adam Adagrad Momentum SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss"],
];

const FAMILY_OF = new Map(FAMILIES.flatMap(([family, names]) => names.split(" ").map((name) => [name, family] as const)));

export function familyOf(operator: string): Family {
  return FAMILY_OF.get(operator) ?? "other";
}
