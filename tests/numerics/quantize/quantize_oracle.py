"""An independent oracle of FP8 quantization: numpy for scales, ml_dtypes for the casts.

Compares raw codes and raw FP32 scales of the CPU kernels for equality; elements that nothing may
write must still hold their sentinel. The program under test is named by QUANTIZE_DUMP.
"""

import os
import subprocess

import ml_dtypes
import numpy as np
import pytest

DUMP = os.environ["QUANTIZE_DUMP"]
CODE_SENTINEL = np.uint8(0xA5)
FLOAT_SENTINEL = np.uint32(0xFFC0DEAD)
FORMATS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, np.float32(448)),
    "e5m2": (ml_dtypes.float8_e5m2, np.float32(57344)),
}
INPUTS = {
    "bf16": (np.uint16, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
    "fp16": (np.uint16, 65504.0),
    "fp32": (np.uint32, float(np.finfo(np.float32).max)),
}


def widen(bits, type_name):
    """The exact FP32 values of raw input elements."""
    if type_name == "bf16":
        return bits.view(ml_dtypes.bfloat16).astype(np.float32)
    return bits.view(np.float16 if type_name == "fp16" else np.float32).astype(np.float32)


def cast_codes(values, scale, format_name):
    dtype, largest = FORMATS[format_name]
    with np.errstate(all="ignore"):
        product = values * np.float32(scale)
        # ml_dtypes overflows to inf or NaN; rounding is monotone, so clipping first saturates.
        codes = np.clip(product, -largest, largest).astype(dtype).view(np.uint8)
    return np.where(np.isnan(product), np.uint8(0x7F), codes)


def scale_of(amax, format_name, pow2, epsilon, overflow):
    amax = np.float32(amax)
    if amax < np.float32(epsilon):
        amax = np.float32(epsilon)
    if amax == 0 or not np.isfinite(amax):
        return np.float32(1)
    with np.errstate(over="ignore"):
        scale = FORMATS[format_name][1] / amax
    if np.isinf(scale):
        scale = np.float32(overflow)
    if pow2:
        scale = np.float32(2.0 ** np.floor(np.log2(np.float64(scale))))
    return scale


def amax_of(values):
    magnitudes = np.abs(values[~np.isnan(values)])
    return np.float32(magnitudes.max()) if magnitudes.size else np.float32(0)


def run_dump(folder, recipe, type_name, format_name, pow2, number, offsets, bits):
    prefix = str(folder / "case")
    bits.tofile(prefix + ".input")
    np.asarray(offsets, np.int64).tofile(prefix + ".offsets")
    number_text = float(np.float32(number)).hex()
    subprocess.run(
        [DUMP, recipe, type_name, format_name, str(int(pow2)), number_text, prefix + ".offsets",
         str(bits.shape[1]), prefix],
        check=True, timeout=60)
    codes = np.fromfile(prefix + ".codes", np.uint8).reshape(bits.shape)
    return codes, np.fromfile(prefix + ".scale_inv", np.uint32), np.fromfile(
        prefix + ".amax", np.uint32)


def scale_areas(recipe, offsets, columns):
    """Yields (row slice, column slice, index of the scale) for every scale of a recipe."""
    across = -(-columns // 128)
    base = 0
    for group, (begin, end) in enumerate(zip(offsets[:-1], offsets[1:])):
        rows = end - begin
        if recipe == "per_tensor":
            yield slice(begin, end), slice(0, columns), group
        elif recipe == "1x128":
            padded = -(-rows // 4) * 4
            for bx in range(across):
                for row in range(rows):
                    yield (slice(begin + row, begin + row + 1), slice(bx * 128, bx * 128 + 128),
                           base + bx * padded + row)
            base += across * padded
        else:
            padded = -(-across // 4) * 4
            down = -(-rows // 128)
            for by in range(down):
                top = begin + by * 128
                for bx in range(across):
                    yield (slice(top, min(end, top + 128)), slice(bx * 128, bx * 128 + 128),
                           base + by * padded + bx)
            base += down * padded


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("type_name", ["bf16", "fp16"])
@pytest.mark.parametrize(
    "scale", [1.0, 448 / 3, 57344 / 7, 0.3, 2.0**127, 2.0**-127, 3.4028235e38, 1e-30])
def test_every_16_bit_pattern(tmp_path, type_name, format_name, scale):
    bits = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    codes, _, _ = run_dump(tmp_path, "cast", type_name, format_name, False, scale, [0, 256], bits)
    np.testing.assert_array_equal(codes, cast_codes(widen(bits, type_name), scale, format_name))


def wild_bits(rng, type_name, rows, columns):
    """Mostly values around 1, with zero, tiny, huge and arbitrary stretches, inf and NaN."""
    values = rng.standard_normal((rows, columns)).astype(np.float32)
    values *= np.exp2(rng.integers(-12, 8, size=(rows, 1))).astype(np.float32)
    values[rng.random((rows, columns)) < 0.003] = np.nan
    values[rng.random((rows, columns)) < 0.0003] = -np.inf
    for _ in range(max(rows // 3, 1)):
        row = int(rng.integers(rows))
        start = int(rng.integers(0, columns, endpoint=True)) // 128 * 128
        values[row, start:start + 128] = rng.choice(
            np.array([0, -0.0, 1e-38, 2e-40, 6e-8, 6e4, 3e38, 448, 449], np.float32))
    with np.errstate(over="ignore"):
        if type_name == "bf16":
            return values.astype(ml_dtypes.bfloat16).view(np.uint16)
        if type_name == "fp16":
            return values.astype(np.float16).view(np.uint16)
    return values.view(np.uint32)


SHAPES = {
    "k144": ([5, 0, 131, 1], 144),
    "k2880": ([0, 12, 0, 30], 2880),
    "k16": ([130, 3], 16),
    "groups65": ([g % 4 for g in range(65)], 272),
    "empty": ([0, 0], 128),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("pow2,epsilon", [(False, 0.0), (True, 0.0), (False, 0.5), (True, 1e-37)])
@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("type_name", INPUTS)
@pytest.mark.parametrize("recipe", ["per_tensor", "1x128", "128x128"])
def test_grouped_recipe(tmp_path, recipe, type_name, format_name, pow2, epsilon, shape):
    splits, columns = SHAPES[shape]
    offsets = [0] + [int(end) for end in np.cumsum(splits)]
    spare = 7
    rng = np.random.default_rng([len(splits), columns, ord(type_name[-1])])
    bits = wild_bits(rng, type_name, offsets[-1] + spare, columns)
    codes, scale_inv, amax = run_dump(
        tmp_path, recipe, type_name, format_name, pow2, epsilon, offsets, bits)

    values = widen(bits, type_name)
    overflow = INPUTS["fp32" if recipe == "per_tensor" else type_name][1]
    want_codes = np.full(codes.shape, CODE_SENTINEL)
    want_scale_inv = np.full(scale_inv.shape, FLOAT_SENTINEL)
    want_amax = np.full(amax.shape, FLOAT_SENTINEL)
    for rows, cols, index in scale_areas(recipe, offsets, columns):
        area = values[rows, cols]
        largest = amax_of(area)
        scale = scale_of(largest, format_name, pow2, epsilon, overflow)
        want_amax[index] = largest.view(np.uint32)
        want_scale_inv[index] = (np.float32(1) / scale).view(np.uint32)
        want_codes[rows, cols] = cast_codes(area, scale, format_name)
    np.testing.assert_array_equal(amax, want_amax)
    np.testing.assert_array_equal(scale_inv, want_scale_inv)
    np.testing.assert_array_equal(codes, want_codes)
