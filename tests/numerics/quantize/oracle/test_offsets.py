"""Splits to offsets, dimensions and pointers: exact sums in any unit, 64-bit, errors."""

import numpy as np

from cases import run

# Bytes per group, bytes per unit, rows per unit.
STRIDES = [[1000, 0, 1], [0, 1, 1], [0, 7168, 1], [0, 16, 4], [0, 368, 4],
           [16, 2 * 7185, 48], [0, 0, 128], [1, 128, 128]]
# Rows per unit, stride, 32 bits, leading zero.
FORMS = [[128, 128, 0, 1], [128, 1, 1, 1], [1, 1, 1, 0], [4, 57, 0, 0],
         [1, 7168, 0, 1], [16, 0, 1, 1], [48, -3, 0, 1], [128, 7168, 1, 0]]
SPLITS = [
    *[[i % 17 + 1 for i in range(g)] for g in (1, 4, 255, 256, 257, 1024)],
    [3, 0, 5, 2], [0, 3, 5, 0], [0] * 8, [8192] * 8, [4096] * 16, [512] * 128,
    [12345, 0, 8192, 1, 65536, 100, 131072, 7], [2**20] * 4, [2**31 - 1, 2**30, 5], [2**31 - 1] * 9,
]
BROKEN = [([3, -1, 5], 100), ([-7], 10), ([5, 6, 7, 8], 12), ([50, -2, 60, 3], 55), ([1, 0, 0], 0)]
NEGATIVE, OVER_CAPACITY, BEYOND_INT32 = 1, 2, 4


def up(rows, unit):
    return -(-rows // unit)


def cut(splits, capacity):
    rows, error = [], 0
    for split in splits:
        if split < 0:
            split, error = 0, error | NEGATIVE
        if sum(rows) + split > capacity:
            split, error = capacity - sum(rows), error | OVER_CAPACITY
        rows.append(split)
    return rows, error


def before(rows, unit):
    """Units before each group, and all of them at the end."""
    sums = [0]
    for r in rows:
        sums.append(sums[-1] + up(r, unit))
    return sums


def narrowed(values):
    fitting = [min(max(v, -2**31), 2**31 - 1) for v in values]
    return fitting, 0 if fitting == values else BEYOND_INT32


def test_offsets(tmp_path):
    cases = [(s, sum(s) + 3 * i) for i, s in enumerate(SPLITS)] + BROKEN
    settings = []
    for i, (splits, capacity) in enumerate(cases):
        s = dict(splits=np.array(splits, np.int64), strides=np.array(STRIDES, np.int64),
                 forms=np.array(FORMS, np.int64), capacity=capacity, error=8 * (i % 2),
                 rows=i % 3 != 1, word=i % 4 != 3, padded_rows_unit=(1, 4, 128, 48)[i // 2 % 4])
        if i % 2 == 1:
            s["splits32"] = np.array(splits, np.int32)
        settings.append(s)
    runs = run(tmp_path, "offsets", [(None, s) for s in settings])
    for (splits, capacity), s, outputs in zip(cases, settings, runs):
        name = f"{splits[:8]} capacity {capacity}"
        groups = len(splits)
        rows, error = cut(splits, capacity)

        def check(output, dtype, want):
            np.testing.assert_array_equal(outputs.read(output, dtype), want, f"{name} {output}")

        check("row_offsets", np.int64, before(rows, 1) + [-7])
        for output, unit in (("rows", 1), ("padded_rows", s["padded_rows_unit"])):
            want, beyond = narrowed([up(r, unit) * unit for r in rows])
            error |= beyond if s["rows"] else 0
            check(output, np.int32, (want if s["rows"] else [-7] * groups) + [-7])

        lines = {"wide": [], "narrow": []}
        for unit, stride, narrow, leading_zero in FORMS:
            values = [stride * u for u in before(rows, unit)][0 if leading_zero else 1:]
            if narrow:
                values, beyond = narrowed(values)
                error |= beyond
            untouched = [-7] * (groups + 2)
            line = values + untouched[len(values):]
            lines["narrow" if narrow else "wide"] += line
            lines["wide" if narrow else "narrow"] += untouched
        check("wide", np.int64, lines["wide"])
        check("narrow", np.int32, lines["narrow"])

        check("distances", np.int64, [g * by_group + before(rows, unit)[g] * by_unit
                                      for by_group, by_unit, unit in STRIDES
                                      for g in range(groups)])
        check("error", np.uint32, [s["error"] | (error if s["word"] else 0)])
