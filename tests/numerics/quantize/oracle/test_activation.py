"""Activations alone: exact, close to FP64, and the gradient close to a difference quotient."""

import numpy as np
import pytest

import activations
import formats as f
from cases import BYTE_SENTINEL, SHAPES, Operand, run

by_name = pytest.mark.parametrize("activation", activations.EVERY, ids=lambda a: a.name)


@pytest.mark.parametrize("type_name", f.INPUTS)
@by_name
def test_every_bit(tmp_path, activation, type_name):
    raw = f.INPUTS[type_name][1]
    shapes = ["k144", "k16", "groups65", "empty"]
    operands = [Operand(**SHAPES[s], type_name=type_name, activation=activation) for s in shapes]
    for operand, outputs in zip(operands, run(tmp_path, "activate", [(o, {}) for o in operands])):
        active = operand.offsets[-1] * operand.columns
        got = outputs.read("output", raw)
        want = f.narrow(operand.values, type_name).reshape(-1)
        np.testing.assert_array_equal(got[:active], want)
        assert (got[active:].view(np.uint8) == BYTE_SENTINEL).all()


def test_every_bit_of_sigmoids(tmp_path):
    """Of FP32 numbers of every exponent and either sign, and of those where the exponential ends."""
    rng = np.random.default_rng(11)
    exponents = np.repeat(np.arange(256, dtype=np.uint32), 64) << 23
    bits = exponents | rng.integers(0, 1 << 23, exponents.size, dtype=np.uint32)
    ends = np.array([0, 80, 88, 88.7, 89, 89.01, 103.9, 104, 104.01, np.inf], f.F32)
    around = np.concatenate([np.nextafter(ends, f.F32(-np.inf)), ends, np.nextafter(ends, f.F32(np.inf))])
    arguments = np.concatenate([bits.view(f.F32), around, np.linspace(-105, 105, 50001, dtype=f.F32)])
    arguments = np.concatenate([arguments, -arguments])
    (outputs,) = run(tmp_path, "sigmoid", [(None, {"arguments": arguments})])
    got = outputs.read("output", f.F32)
    with np.errstate(all="ignore"):
        want = f.F32(1) / (f.F32(1) + f.portable_exp(-arguments))
    numbers = ~np.isnan(arguments)
    np.testing.assert_array_equal(got[numbers].view(np.uint32), want[numbers].view(np.uint32))
    assert np.isnan(got[~numbers]).all()
    # And what they stand for: within 4 units in the last place of FP64's, down to the smallest normal number.
    with np.errstate(all="ignore"):
        exact = 1 / (1 + np.exp(-arguments[numbers].astype(np.float64)))
    normal = exact >= np.finfo(f.F32).tiny
    assert np.max(np.abs(got[numbers][normal] / exact[normal] - 1)) < 4 * 2.0**-23


def outputs_of(tmp_path, activation, gate, up, dy):
    operand = Operand([gate.shape[0]], gate.shape[1], "fp32", spare=0, activation=activation)
    parts = [gate, up] if activation.gated else [gate]
    operand.bits = np.concatenate(parts, axis=1).view(np.uint32)
    if activation.gradient:
        operand.gradient_bits = dy.view(np.uint32)
    (outputs,) = run(tmp_path, "activate", [(operand, {})])
    return outputs.read("output", f.F32).reshape(gate.shape[0], -1).astype(np.float64)


def sample(activation):
    """Inside the clamp, where FP32 neither overflows nor loses the sigmoid's tail."""
    end = min(30.0, 0.9 * activation.limit)
    gate = np.linspace(-end, end, 4096, dtype=f.F32).reshape(256, 16)
    rng = np.random.default_rng(7)
    bound = min(3.0, 0.9 * activation.limit)
    up = rng.uniform(-bound, bound, gate.shape).astype(f.F32)
    return gate, up, rng.standard_normal(gate.shape).astype(f.F32)


@by_name
def test_close_to_fp64(tmp_path, activation):
    gate, up, dy = sample(activation)
    got = outputs_of(tmp_path, activation, gate, up, dy)
    value, of_gate, of_up = activations.exact(activation, gate, up, dy)
    if not activation.gradient:
        wanted = [value]
    else:
        wanted = [of_gate, of_up] if activation.gated else [of_gate]
    wanted = np.concatenate(wanted, axis=1)
    # Where terms of opposite sign cancel the error is that of the terms.
    scale = np.maximum(np.abs(wanted), 1e-3 if activation.gradient else 1e-30)
    assert np.max(np.abs(got - wanted) / scale) < 2e-5


def test_beyond_the_limit_nothing_changes(tmp_path):
    clamped = activations.CLAMPED
    gate = np.array([[-9, 6.9, 7, 7.1, 100, 7.1, 1, 1] * 2], f.F32)
    up = np.array([[1, 1, 1, 1, 1, 1, -7.5, 7.5] * 2], f.F32)
    dy = np.ones_like(gate)
    got = outputs_of(tmp_path, clamped.of_gradient(), gate, up, dy)
    of_gate, of_up = got[:, :16], got[:, 16:]
    np.testing.assert_array_equal(of_gate[0, :8] == 0, [False] * 3 + [True] * 3 + [False] * 2)
    np.testing.assert_array_equal(of_up[0, :8] == 0, [False] * 6 + [True] * 2)
    value = outputs_of(tmp_path, clamped, gate, up, dy)
    assert value[0, 3] == value[0, 4] == value[0, 2]


@pytest.mark.parametrize("activation", activations.FORWARD, ids=lambda a: a.name)
def test_gradient_is_the_slope_of_the_function(tmp_path, activation):
    gate, up, dy = sample(activation)
    gate[np.abs(gate) < 1e-3] = 1  # not at the edge of the rectified functions
    dy = np.ones_like(gate)
    step = 1e-5

    def value(x, u):
        return activations.exact(activation, x, u, dy)[0]

    gate, up, dy = gate.astype(np.float64), up.astype(np.float64), dy.astype(np.float64)
    slope = (value(gate + step, up) - value(gate - step, up)) / (2 * step)
    narrow = [v.astype(f.F32) for v in (gate, up, dy)]
    got = outputs_of(tmp_path, activation.of_gradient(), *narrow)
    np.testing.assert_allclose(got[:, :16], slope, rtol=1e-3, atol=1e-3)
    if activation.gated:
        slope = (value(gate, up + step) - value(gate, up - step)) / (2 * step)
        np.testing.assert_allclose(got[:, 16:], slope, rtol=1e-3, atol=1e-3)
