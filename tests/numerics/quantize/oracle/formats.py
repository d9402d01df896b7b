"""Element formats and scale rules by definition: numpy for scales, ml_dtypes for casts."""

import ml_dtypes
import numpy as np

F32 = np.float32
FLT_MAX = np.finfo(np.float32).max
FP8 = {
    "e4m3": (ml_dtypes.float8_e4m3fn, F32(448)),
    "e5m2": (ml_dtypes.float8_e5m2, F32(57344)),
}
INPUTS = {
    "bf16": (ml_dtypes.bfloat16, np.uint16, F32(float(ml_dtypes.finfo(ml_dtypes.bfloat16).max))),
    "fp16": (np.float16, np.uint16, F32(65504)),
    "fp32": (np.float32, np.uint32, FLT_MAX),
}


def widen(bits, type_name):
    """The exact FP32 values of raw input elements."""
    return bits.view(INPUTS[type_name][0]).astype(F32)


def narrow(values, type_name):
    """Raw bits of FP32 values rounded to nearest even; NaN is all ones but for the sign."""
    dtype, raw, _ = INPUTS[type_name]
    with np.errstate(all="ignore"):
        bits = np.ascontiguousarray(values, F32).astype(dtype).view(raw)
    all_ones = 0x7FFFFFFF if raw == np.uint32 else 0x7FFF
    return np.where(np.isnan(values), raw(all_ones), bits)


def magnitude_max(values, axis):
    """max |x| that ignores NaN; 0 for nothing."""
    return np.fmax.reduce(np.abs(values), axis=axis, initial=F32(0))


def scale_of(amax, format_name, pow2=False, epsilon=0.0, overflow=FLT_MAX):
    with np.errstate(all="ignore"):
        amax = np.asarray(amax, F32)
        amax = np.where(amax < F32(epsilon), F32(epsilon), amax)
        scale = FP8[format_name][1] / amax
        scale = np.where(np.isinf(scale), F32(overflow), scale)
        if pow2:
            _, exponent = np.frexp(scale)  # the largest power of two that is not above
            scale = np.ldexp(F32(1), exponent - 1)
        one = (amax == 0) | ~np.isfinite(amax)
        return np.where(one, F32(1), scale).astype(F32)


def fp8_codes(values, scale, format_name):
    dtype, largest = FP8[format_name]
    with np.errstate(all="ignore"):
        product = (values * np.asarray(scale, F32)).astype(F32)
        # ml_dtypes overflows to inf or NaN; rounding is monotone, so clipping first saturates.
        codes = np.clip(product, -largest, largest).astype(dtype).view(np.uint8)
    return np.where(np.isnan(product), np.uint8(0x7F), codes)


def fp8_values(codes, format_name):
    return codes.view(FP8[format_name][0]).astype(F32)


def e8m0_of(amax, format_name):
    """amax / format_max, the reciprocal rounded first, rounded up to a power of two: its byte."""
    with np.errstate(all="ignore"):
        ratio = (np.asarray(amax, F32) * (F32(1) / FP8[format_name][1])).astype(F32)
    bits = ratio.view(np.uint32)
    exponent = (bits >> 23) & 0xFF
    mantissa = bits & 0x7FFFFF
    up = (mantissa != 0) & (exponent != 0xFE) & ~((exponent == 0) & (mantissa <= 0x400000))
    byte = (exponent + up).astype(np.uint8)
    byte = np.where(np.isinf(ratio), np.uint8(0xFE), byte)
    byte = np.where(np.isnan(ratio), np.uint8(0xFF), byte)
    return np.where(ratio == 0, np.uint8(0), byte)


def e8m0_multiplier(byte):
    """2^(127 - byte), exact; 2^-127 is a subnormal."""
    power = np.ldexp(np.float64(1), 127 - byte.astype(np.int32)).astype(F32)
    return np.where(byte == 255, F32(np.nan), power)


def e8m0_value(byte):
    power = np.ldexp(np.float64(1), byte.astype(np.int32) - 127).astype(F32)
    return np.where(byte == 255, F32(np.nan), power)


E2M1_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], F32)


def e2m1_codes(values):
    """Nearest, ties to the even code; saturates; NaN is +6."""
    m = np.abs(values)
    with np.errstate(invalid="ignore"):
        code = ((m > 0.25).astype(np.uint8) + (m >= 0.75) + (m > 1.25) + (m >= 1.75) + (m > 2.5)
                + (m >= 3.5) + (m > 5)).astype(np.uint8)
    code |= np.signbit(values).astype(np.uint8) << 3
    return np.where(np.isnan(values), np.uint8(7), code)


def e2m1_stochastic_codes(values, random_bytes):
    with np.errstate(invalid="ignore", over="ignore"):
        m = np.abs(values)
        step = np.where(m < 2, F32(0.5), np.where(m < 4, F32(1), F32(2))).astype(F32)
        jittered = (m + random_bytes.astype(F32) / F32(256) * step).astype(F32)
        code = np.searchsorted(E2M1_VALUES, np.nan_to_num(jittered, nan=9, posinf=9), "right") - 1
    code = code.astype(np.uint8) | (np.signbit(values).astype(np.uint8) << 3)
    return np.where(np.isnan(values), np.uint8(7), code)


def e2m1_values(codes):
    return np.where(codes & 8, -E2M1_VALUES[codes & 7], E2M1_VALUES[codes & 7]).astype(F32)


def philox(counter, key):
    """Philox4x32-10: counter uint32 [n, 4], key two uint32. Returns uint32 [n, 4]."""
    c = [counter[:, i].astype(np.uint64) for i in range(4)]
    k0, k1 = int(key[0]), int(key[1])
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        p0 = c[0] * np.uint64(0xD2511F53)
        p1 = c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low,
             (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, axis=1).astype(np.uint32)


def fma32(a, b, c):
    """FP32 fused multiply-add: the exact sum rounded to odd in FP64, then once to FP32."""
    with np.errstate(all="ignore"):
        product = np.asarray(a, np.float64) * np.asarray(b, np.float64)  # exact: 48 bits
        c = np.asarray(c, np.float64)
        total = product + c
        part = total - product
        lost = (product - (total - part)) + (c - part)
        even = (np.atleast_1d(total).view(np.uint64) & np.uint64(1) == 0).reshape(total.shape)
        toward = np.where(lost > 0, np.inf, -np.inf)
        odd = np.where((lost != 0) & even & np.isfinite(total), np.nextafter(total, toward), total)
        return odd.astype(F32)


def portable_exp(t):
    t = np.asarray(t, F32)
    inside = (t > -104) & (t <= 89)
    x = np.where(inside, t, F32(0))
    rounder = F32(12582912)
    n = fma32(x, F32(1.44269504), rounder) - rounder
    r = fma32(n, F32(-0.693145752), x)
    r = fma32(n, F32(-1.42860677e-6), r)
    p = F32(float.fromhex("0x1.10627p-7"))
    for coefficient in map(F32, (float.fromhex("0x1.572a1ep-5"), float.fromhex("0x1.5557aep-3"),
                                 float.fromhex("0x1.fffdfcp-2"), 1, 1)):
        p = fma32(p, r, coefficient)
    whole = n.astype(np.int32)
    half = np.trunc(whole / 2).astype(np.int32)
    with np.errstate(all="ignore"):
        value = (p * np.ldexp(F32(1), half)) * np.ldexp(F32(1), whole - half)
    value = np.where(t > 89, F32(np.inf), np.where(inside, value, F32(0)))
    return np.where(np.isnan(t), t, value).astype(F32)


HADAMARD_SIGNS = np.array([1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1], F32)


def walsh(values):
    """Stages of distance 1, 2, 4, 8 over the last axis of 16, FP32."""
    y = values.astype(F32)
    with np.errstate(all="ignore"):
        for distance in (1, 2, 4, 8):
            pairs = y.reshape(y.shape[:-1] + (8 // distance, 2, distance))
            a, b = pairs[..., 0, :], pairs[..., 1, :]
            y = np.stack([a + b, a - b], axis=-2).reshape(y.shape)
    return y


def hadamard(values):
    """16-point random Hadamard transform of the last axis, rounded to BF16."""
    with np.errstate(all="ignore"):
        y = walsh(values * HADAMARD_SIGNS) * F32(0.25)
        return y.astype(ml_dtypes.bfloat16).astype(F32)
