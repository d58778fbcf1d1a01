"""Equality of sizes, given the guards of a program: every run satisfies its guards, or bails out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import gcd
from operator import mul

from sardonyx._src.compile.program import Guard
from sardonyx._src.ir.dims import Expr, Known, evaluate, known_equal
from sardonyx._src.ir.dims.atoms import Atom, DimCall, Symbol
from sardonyx._src.ir.dims.expr import atom_expr
from sardonyx._src.ir.dims.substitution import DIM_OPERATIONS

MAX_ROUNDS = 4  # the most times that the rules are applied to one size


class SizeFacts:
    """Guards as rewriting rules, each of which replaces an atom (a symbol, or a call such as a minimum) by an equal expression.

    Sizes that are equal after rewriting are proved equal.  Sizes that are not may still be equal.

    rules: the replacement of each atom, everywhere.
    outer_rules: replacements that have the atom itself inside of calls.  They do not apply inside of calls, where
        they would apply forever.
    zeros: differences of sizes that guards make 0.
    rewritten: a cache of `rewrite`.
    answers: a cache of `are_equal`.
    """

    def __init__(self, guards: Iterable[Guard]) -> None:
        self.rules: dict[Atom, Known] = {}
        self.outer_rules: dict[Atom, Known] = {}
        self.zeros: set[Known] = {0}
        for left, right in sorted(guards, key=complexity):
            self.zeros |= {left - right, right - left}
            self.add_rule(self.apply_rules(left - right))
        self.all_rules = self.rules | self.outer_rules
        self.rewritten: dict[Expr, Known] = {}
        self.answers: dict[tuple[Known, Known], bool] = {}

    def add_rule(self, difference: Known) -> None:
        """Solves an equation, difference = 0, for an atom that occurs once, with the factor 1 or -1; calls first."""
        if isinstance(difference, int):
            return
        common = gcd(*difference.terms.values())
        difference = Expr({monomial: factor // common for monomial, factor in difference.terms.items()})
        candidates = [
            (monomial[0], factor)
            for monomial, factor in difference.terms.items()
            if len(monomial) == 1 and abs(factor) == 1
        ]
        for rules, is_free in ((self.rules, is_free_of), (self.outer_rules, is_outside_free_of)):
            for atom, factor in sorted(candidates, key=lambda pair: not isinstance(pair[0], DimCall)):
                rest = difference - factor * atom_expr(atom)
                if is_free(rest, atom):
                    rules[atom] = -factor * rest
                    return

    def rewrite(self, size: Known) -> Known:
        """A size with all rules applied."""
        if isinstance(size, int):
            return size
        if size not in self.rewritten:
            self.rewritten[size] = self.apply_rules(size)
        return self.rewritten[size]

    def apply_rules(self, size: Known) -> Known:
        """A size with the rules applied that have been added so far."""
        rules = self.rules | self.outer_rules
        for _ in range(MAX_ROUNDS):
            rewritten = self.rewrite_sum(size, rules)
            if rewritten == size:
                break
            size = rewritten
        return size

    def rewrite_sum(self, size: Known, rules: Mapping[Atom, Known]) -> Known:
        if isinstance(size, int) or not rules:
            return size
        total: Known = size
        for monomial, factor in size.terms.items():
            replacements = [self.rewrite_atom(atom, rules) for atom in monomial]
            if any(replacement is not None for replacement in replacements):
                atoms = (
                    atom_expr(atom) if replacement is None else replacement
                    for atom, replacement in zip(monomial, replacements, strict=True)
                )
                total += reduce(mul, atoms, factor) - Expr({monomial: factor})
        return total

    def rewrite_atom(self, atom: Atom, rules: Mapping[Atom, Known]) -> Known | None:
        """The replacement of an atom; None if no rule applies to it."""
        if atom in rules:
            return rules[atom]
        if not isinstance(atom, DimCall):
            return None
        args = tuple(self.rewrite_sum(arg, self.rules) for arg in atom.args)
        return None if args == atom.args else DIM_OPERATIONS[atom.op](*args)

    def sample(self, symbols: Iterable[str], first: int) -> dict[str, int] | None:
        """Values of symbols that satisfy the guards, the free ones from `first` on and some of them equal; None if none are found."""
        sizes = {name: first + i % 3 for i, name in enumerate(sorted(symbols))}
        for atom, size in self.all_rules.items():
            if isinstance(atom, Symbol):
                sizes[atom.name] = evaluate(self.rewrite(size), sizes) or 0
        return sizes if all(evaluate(zero, sizes) == 0 for zero in self.zeros) else None

    def are_equal(self, a: Known, b: Known) -> bool:
        """Whether two sizes are equal in every run that satisfies the guards, as far as that can be proved."""
        if a == b:
            return True
        if (a, b) not in self.answers:
            self.answers[a, b] = (
                a - b in self.zeros
                or bool(known_equal(a, b))
                or bool(known_equal(self.rewrite(a), self.rewrite(b)))
            )
        return self.answers[a, b]

    def have_equal_dims(self, a: Sequence[Known], b: Sequence[Known]) -> bool:
        """Whether two shapes are equal in every run that satisfies the guards, as far as that can be proved."""
        return a == b or (len(a) == len(b) and all(map(self.are_equal, a, b)))

    def is_broadcast(self, size: Known, target: Known) -> bool:
        """Whether a size is 1 or equal to `target` in every run, as far as that can be proved."""
        return (
            size in (1, target) or (size - target) * (size - 1) in self.zeros or self.are_equal(size, target)
        )


def complexity(guard: Guard) -> tuple[int, int, str]:
    """The sorting key of guards: simple ones first, so that their symbols are replaced in the calls of later ones."""
    sides = [side for side in guard if isinstance(side, Expr)]
    depth = max((side.depth for side in sides), default=0)
    return depth, sum(side.size for side in sides), str(guard)


def is_free_of(size: Known, atom: Atom) -> bool:
    """Whether a size does not depend on an atom."""
    if isinstance(size, int):
        return True
    inner = (a.args for monomial in size.terms for a in monomial if isinstance(a, DimCall))
    return is_outside_free_of(size, atom) and all(is_free_of(arg, atom) for args in inner for arg in args)


def is_outside_free_of(size: Known, atom: Atom) -> bool:
    """Whether an atom occurs in a size only inside of calls, or not at all."""
    return isinstance(size, int) or all(atom not in monomial for monomial in size.terms)
