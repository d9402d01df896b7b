"""Where codes and scales of a group lie. All sizes follow the contract headers."""

import numpy as np


def cdiv(a, b):
    return -(-a // b)


def round_up(a, b):
    return cdiv(a, b) * b


def padded(matrix, row_step, column_step, fill=0):
    rows, columns = matrix.shape
    return np.pad(matrix, ((0, round_up(rows, row_step) - rows),
                           (0, round_up(columns, column_step) - columns)), constant_values=fill)


def spread(block_values, rows, columns, shape):
    """One value per block, repeated over the elements of the block and cut to the matrix."""
    repeated = np.repeat(np.repeat(block_values, rows, axis=0), columns, axis=1)
    return repeated[:shape[0], :shape[1]]


def float_scales(values, transposed, fill):
    """Scales of one group as stored: row-major, inner dimension rounded up to 4."""
    matrix = values.T if transposed else values
    return padded(matrix, 1, 4, fill).reshape(-1)


def micro_scales(lines, swizzled, transposed):
    """lines: [outer, scales of a line] bytes. Returns the bytes of a group as stored."""
    outer, count = lines.shape
    full = padded(lines, 128, 4)
    if not swizzled:
        return (full.T if transposed else full).reshape(-1)
    stored = np.zeros(full.size, np.uint8)
    y, x = np.mgrid[0:full.shape[0], 0:full.shape[1]]
    tiles = cdiv(count, 4)
    at = (y // 128 * tiles + x // 4) * 512 + y % 32 * 16 + y // 32 % 4 * 4 + x % 4
    stored[at] = full
    assert outer == 0 or full.shape[0] == round_up(outer, 128)
    return stored


def nibbles(codes):
    """Two E2M1 codes per byte, the even element in the low half."""
    return codes[:, 0::2] | (codes[:, 1::2] << 4)
