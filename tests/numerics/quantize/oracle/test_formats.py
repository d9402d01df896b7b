"""The oracle itself: golden vectors of the specification and cross-checks of its parts."""

import ml_dtypes
import numpy as np
import pytest

import formats as f


@pytest.mark.parametrize("amax,e4m3,e5m2,byte_e4m3,byte_e5m2", [
    (0.0, 0x3F800000, 0x3F800000, 0, 0), (np.inf, 0x3F800000, 0x3F800000, 254, 254),
    (np.nan, 0x3F800000, 0x3F800000, 255, 255), (1e-38, 0x7F7FFFFF, 0x7F7FFFFF, 0, 0),
    (1, 0x43E00000, 0x47600000, 119, 112), (3, 0x43155555, 0x46955555, 120, 113),
    (3.5, 0x43000000, 0x46800000, 120, 113), (448, 0x3F800000, 0x43000000, 127, 120),
    (449, 0x3F7F6E0A, 0x42FF6E0A, 128, 121), (57344, 0x3C000000, 0x3F800000, 134, 127)])
def test_golden_scales(amax, e4m3, e5m2, byte_e4m3, byte_e5m2):
    for name, bits, byte in (("e4m3", e4m3, byte_e4m3), ("e5m2", e5m2, byte_e5m2)):
        assert f.scale_of(np.float32(amax), name).view(np.uint32) == bits
        assert f.e8m0_of(np.float32(amax), name) == byte


@pytest.mark.parametrize("amax,scale", [(1e-38, 2.0**127), (1, 256), (3, 128), (3.5, 128),
                                        (448, 1), (449, 0.5), (57344, 2.0**-7), (0, 1)])
def test_golden_power_of_two_scales(amax, scale):
    assert f.scale_of(np.float32(amax), "e4m3", True, overflow=f.INPUTS["bf16"][2]) == scale
    assert f.scale_of(np.float32(1e-38), "e4m3", True, overflow=65504) == 2.0**15


def test_e8m0_of_exact_powers():
    k = np.arange(-100, 101)
    amax = np.ldexp(np.float32(448), k)
    np.testing.assert_array_equal(f.e8m0_of(amax, "e4m3"), 127 + k)


def test_e2m1_is_that_of_ml_dtypes():
    values = np.linspace(-7, 7, 4481).astype(np.float32)
    want = values.astype(ml_dtypes.float4_e2m1fn).view(np.uint8) & 15
    np.testing.assert_array_equal(f.e2m1_codes(values), want)


def test_philox_known_answers():
    zeros = f.philox(np.zeros((1, 4), np.uint32), (0, 0))
    np.testing.assert_array_equal(zeros[0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8])
    ones = f.philox(np.full((1, 4), 0xFFFFFFFF, np.uint32), (0xFFFFFFFF, 0xFFFFFFFF))
    np.testing.assert_array_equal(ones[0], [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD])


def test_butterfly_is_the_matrix_product():
    i = np.arange(16)
    parity = np.array([[bin(a & b).count("1") & 1 for b in i] for a in i])
    matrix = f.HADAMARD_SIGNS[:, None] * (1 - 2 * parity) / 4.0
    x = np.random.default_rng(1).standard_normal((500, 16)).astype(np.float32)
    exact = x.astype(np.float64) @ matrix
    np.testing.assert_allclose(f.walsh(x * f.HADAMARD_SIGNS) * 0.25, exact, atol=4e-6)
    np.testing.assert_allclose(f.hadamard(x), exact, rtol=2**-8, atol=1e-5)
    bits = sum(1 << j for j in range(16) if f.HADAMARD_SIGNS[j] < 0)
    assert bits == 0xD7E8


def test_fused_multiply_add_rounds_once():
    one = np.float32(1)
    step = np.float32(2.0**-23)
    # (1 + 2^-23)^2 + 2^-24 = 1 + 2^-22 + 2^-24 + 2^-46: above the tie that FP32 steps see.
    assert f.fma32(one + step, one + step, np.float32(2.0**-24)) == one + 3 * step
    assert f.fma32(one + step, one + step, -(one + 2 * step)) == np.float32(2.0**-46)


def test_exponential_is_close():
    t = np.linspace(-87, 88, 20001).astype(np.float32)
    exact = np.exp(t.astype(np.float64))
    assert np.max(np.abs(f.portable_exp(t) - exact) / np.spacing(exact.astype(np.float32))) < 3
