"""The requirements of the specification that a file alone can break, by group: how many each group has."""

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
