"""The number of requirements of the specification that a file can violate, by group."""

from __future__ import annotations

COUNTS = {
    "MOD": 6,
    "MET": 4,
    "STY": 3,
    "OPS": 9,
    "GRA": 24,
    "NAM": 4,
    "SHP": 4,
    "SUB": 18,
    "NOD": 18,
    "OPR": 8,
    "ATT": 13,
    "FUN": 24,
    "VER": 12,
    "TEN": 10,
    "SPT": 11,
    "EXT": 18,
    "TYP": 10,
    "TRN": 11,
    "QNT": 4,
    "DEV": 12,
    "WIR": 5,
    "OPD": 8,
    "DAT": 6,
}
STATIC = {f"{group}-{i:02}" for group, count in COUNTS.items() for i in range(1, count + 1)}
# Violations of a SHOULD, or of an ambiguous requirement; all others are errors, and STY is opt-in.
WARNINGS = frozenset(
    """
    MOD-04 MOD-05 MOD-06 MET-02 MET-03 MET-04 OPS-02 OPS-06 OPS-07 OPS-08 GRA-05 GRA-16 GRA-17 GRA-21 NAM-01 NAM-02
    NAM-03 NAM-04 SHP-03 SHP-04 NOD-03 NOD-15 NOD-17 ATT-13 FUN-14 FUN-15 FUN-19 VER-09 VER-10 VER-11 VER-12 SPT-10
    EXT-09 EXT-14 QNT-01 QNT-02 OPD-03 OPD-08
    """.split()
)
