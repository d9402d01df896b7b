"""Splits to offsets, row counts and pointers: 64-bit sums, strides of all three units, errors."""

import numpy as np

from cases import run

# Bytes a group, a row, a padded row.
STRIDES = np.array([[1000, 0, 0], [0, 1, 0], [0, 7168, 0], [0, 0, 4], [0, 0, 92],
                    [16, 2 * 7185, 12], [0, 0, 0], [1, 128, 1]], np.int64)
SPLITS = [
    *[[i % 17 + 1 for i in range(g)] for g in (1, 4, 255, 256, 257, 1024)],
    [3, 0, 5, 2], [0, 3, 5, 0], [0] * 8, [8192] * 8, [4096] * 16, [512] * 128,
    [12345, 0, 8192, 1, 65536, 100, 131072, 7], [2**20] * 4, [2**31 - 1, 2**30, 5], [2**31 - 1] * 9,
]
BROKEN = [([3, -1, 5], 100), ([-7], 10), ([5, 6, 7, 8], 12), ([50, -2, 60, 3], 55), ([1, 0, 0], 0)]


def expected(splits, capacity):
    before, padded, total, error = [0], [0], 0, 0
    rows = []
    for split in splits:
        if split < 0:
            split, error = 0, error | 1
        if total + split > capacity:
            split, error = capacity - total, error | 2
        rows.append(split)
        total += split
        before.append(total)
        padded.append(padded[-1] + (split + 3) // 4 * 4)
    return before, padded, rows, error


def test_offsets(tmp_path):
    cases = [(s, sum(s) + 3 * i) for i, s in enumerate(SPLITS)] + BROKEN
    settings = [dict(splits=np.array(s, np.int64), strides=STRIDES, capacity=c, error=4 * (i % 2),
                     rows=i % 3 != 1, word=i % 4 != 3) for i, (s, c) in enumerate(cases)]
    runs = run(tmp_path, "offsets", [(None, s) for s in settings])
    for (splits, capacity), s, outputs in zip(cases, settings, runs):
        before, padded, rows, error = expected(splits, capacity)
        name = f"{splits[:8]} capacity {capacity}"
        np.testing.assert_array_equal(outputs.read("row_offsets", np.int64), before + [-7], name)
        want_rows = rows + [-7] if s["rows"] else [-7] * (len(splits) + 1)
        np.testing.assert_array_equal(outputs.read("rows", np.int32), want_rows, name)
        distances = [g * by_group + before[g] * by_row + padded[g] * by_padded
                     for by_group, by_row, by_padded in STRIDES.tolist()
                     for g in range(len(splits))]
        np.testing.assert_array_equal(outputs.read("distances", np.int64), distances, name)
        want = s["error"] | (error if s["word"] else 0)
        assert outputs.read("error", np.uint32)[0] == want, name
