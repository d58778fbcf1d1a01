"""Nodes of standard operators for the probabilities of SVMClassifier.

A Loop performs the coordinate descent of `pairwise_probabilities`.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.ops.ml.pairwise_probabilities import MIN_PROBABILITY, MIN_ROUNDS, TOLERANCE
from sardonyx._src.ops.support.body_text import scalar, vector


def probability_text(classes: int) -> str:
    """`shares`: the probabilities of the classes, [N, classes] float32, from the decisions `scores`, [N, pairs]."""
    return f"""{pair_text(classes)}
      {quadratic_text(classes)}
      unit = {scalar(1, DataType.FLOAT)}
      twice = {scalar(2, DataType.FLOAT)}
      class_axis_of_p = {vector([1])}
      last_axis = {vector([2])}
      {columns_text(classes)}
      is_number = Equal(diagonal, diagonal)
      even = {scalar(1 / classes, DataType.FLOAT)}
      first_p = Where(is_number, even, even)
      most_rounds = {scalar(max(MIN_ROUNDS, classes), DataType.INT64)}
      goes_on = {scalar(1, DataType.BOOL)}
      shares = Loop <body = round (int64 number, bool on, p) => (again, next_p) {{
        {round_text(classes)}
      }}> (most_rounds, goes_on, first_p)"""


def pair_text(classes: int) -> str:
    """`r`: the probability of class i against class j, [N, classes, classes]; 0 where i is j."""
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    places = [
        pairs.index((i, j)) if i < j else len(pairs) + pairs.index((j, i)) if j < i else 0
        for i in range(classes)
        for j in range(classes)
    ]
    mask = ", ".join(str(int(i != j)) for i in range(classes) for j in range(classes))
    return f"""slopes = Constant <value_floats = @prob_a> ()
      offsets = Constant <value_floats = @prob_b> ()
      slanted = Mul(scores, slopes)
      exponent = Add(slanted, offsets)
      minus_exponent = Neg(exponent)
      raw_wins = Sigmoid(minus_exponent)
      least = {scalar(MIN_PROBABILITY, DataType.FLOAT)}
      most = {scalar(1 - MIN_PROBABILITY, DataType.FLOAT)}
      wins_of_pairs = Clip(raw_wins, least, most)
      whole = {scalar(1, DataType.FLOAT)}
      losses_of_pairs = Sub(whole, wins_of_pairs)
      both = Concat <axis = 1> (wins_of_pairs, losses_of_pairs)
      pair_places = {vector(places)}
      flat_r = Gather <axis = 1> (both, pair_places)
      square_shape = {vector([0, classes, classes])}
      full_r = Reshape(flat_r, square_shape)
      off_diagonal = Constant <value = float[{classes}, {classes}] {{{mask}}}> ()
      r = Mul(full_r, off_diagonal)"""


def quadratic_text(classes: int) -> str:
    """`Q` of `quadratic`, [N, classes, classes], and `diagonal`, [N, classes]."""
    identity = ", ".join(str(int(i == j)) for i in range(classes) for j in range(classes))
    return f"""turned_r = Transpose <perm = [0, 2, 1]> (r)
      products_of_pairs = Mul(r, turned_r)
      squares = Mul(r, r)
      row_axis = {vector([1])}
      diagonal = ReduceSum <keepdims = 0> (squares, row_axis)
      diagonal_axis = {vector([2])}
      diagonal_column = Unsqueeze(diagonal, diagonal_axis)
      identity = Constant <value = float[{classes}, {classes}] {{{identity}}}> ()
      on_diagonal = Mul(diagonal_column, identity)
      Q = Sub(on_diagonal, products_of_pairs)"""


def columns_text(classes: int) -> str:
    """For each class t: its index `place_t`, `Q_tt` [N, 1], the unit vector `e_t` [classes], and except for the last class
    `Q_t` [N, classes]."""
    parts = []
    for t in range(classes):
        unit = ", ".join(str(int(i == t)) for i in range(classes))
        if t + 1 < classes:
            parts.append(
                f"scalar_{t} = {scalar(t, DataType.INT64)}  Q_{t} = Gather <axis = 1> (Q, scalar_{t})"
            )
        parts.append(f"""place_{t} = {vector([t])}  Q_{t}{t} = Gather <axis = 1> (diagonal, place_{t})
      e_{t} = Constant <value = float[{classes}] {{{unit}}}> ()""")
    return "\n      ".join(parts)


def round_text(classes: int) -> str:
    """The convergence test of `minimize` and its `sweep` of all rows; rows that have converged are not changed."""
    text = f"""row_p = Unsqueeze(p, class_axis_of_p)
        Qp_terms = Mul(Q, row_p)
        Qp_0 = ReduceSum <keepdims = 0> (Qp_terms, last_axis)
        pQp_terms = Mul(p, Qp_0)
        pQp_0 = ReduceSum(pQp_terms, class_axis_of_p)
        differences = Sub(Qp_0, pQp_0)
        distances_of_p = Abs(differences)
        farthest = ReduceMax(distances_of_p, class_axis_of_p)
        tolerance = {scalar(TOLERANCE / classes, DataType.FLOAT)}
        is_far = GreaterOrEqual(farthest, tolerance)
        p_0 = Identity(p)"""
    for t in range(classes):
        n = t + 1
        text += f"""
        Qp_of_{t} = Gather <axis = 1> (Qp_{t}, place_{t})
        gap_{t} = Sub(pQp_{t}, Qp_of_{t})
        step_{t} = Div(gap_{t}, Q_{t}{t})
        total_{t} = Add(unit, step_{t})
        moved_p_{t} = Mul(step_{t}, e_{t})
        sum_p_{t} = Add(p_{t}, moved_p_{t})
        p_{n} = Div(sum_p_{t}, total_{t})"""
        if n == classes:
            break
        text += f"""
        bend_{t} = Mul(step_{t}, Q_{t}{t})
        slope_{t} = Mul(twice, Qp_of_{t})
        rise_{t} = Add(bend_{t}, slope_{t})
        change_{t} = Mul(step_{t}, rise_{t})
        raised_{t} = Add(pQp_{t}, change_{t})
        square_{t} = Mul(total_{t}, total_{t})
        pQp_{n} = Div(raised_{t}, square_{t})
        moved_Qp_{t} = Mul(step_{t}, Q_{t})
        sum_Qp_{t} = Add(Qp_{t}, moved_Qp_{t})
        Qp_{n} = Div(sum_Qp_{t}, total_{t})"""
    return f"""{text}
        next_p = Where(is_far, p_{classes}, p)
        far_numbers = Cast <to = {DataType.INT32.value}> (is_far)
        some_far = ReduceMax <keepdims = 0> (far_numbers)
        again = Cast <to = {DataType.BOOL.value}> (some_far)"""
