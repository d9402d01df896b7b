"""Activations and their gradients in FP32, operation by operation as kernels/common/activation_math.h
defines them, and in FP64 from the textbook."""

from typing import NamedTuple

import numpy as np

from formats import F32, fma32, portable_exp

GELU_SLOPE = F32(2 * np.sqrt(2 / np.pi))
GELU_CUBE = F32(2 * np.sqrt(2 / np.pi) * 0.044715)


class Activation(NamedTuple):
    function: str
    gated: bool = False
    slope: float = 1.0
    limit: float = np.inf
    up_offset: float = 0.0
    gradient: bool = False  # what is quantized is the gradient of the input

    @property
    def parts(self):
        """Gate and up, or x: parts of the input, and of the gradient."""
        return 2 if self.gated else 1

    def of_gradient(self):
        return self._replace(gradient=True)

    @property
    def name(self):
        words = [self.function] + ["gated"] * self.gated + ["clamped"] * (self.limit < np.inf)
        return "_".join(words + ["quick"] * (self.slope != 1) + ["gradient"] * self.gradient)


SWIGLU = Activation("silu", gated=True)
CLAMPED = Activation("silu", gated=True, slope=1.702, limit=7.0, up_offset=1.0)
FORWARD = [SWIGLU, CLAMPED, Activation("silu"), Activation("silu", slope=1.702),
           Activation("gelu"), Activation("gelu", gated=True), Activation("relu"),
           Activation("relu", gated=True), Activation("squared_relu"),
           Activation("squared_relu", gated=True)]
EVERY = FORWARD + [a.of_gradient() for a in FORWARD]
# For the recipes, which add nothing of their own to an activation.
FUSED = [SWIGLU, CLAMPED, Activation("gelu"), SWIGLU.of_gradient(), CLAMPED.of_gradient(),
         Activation("squared_relu").of_gradient()]


def _sigmoid(a, x):
    if a.function == "silu":
        argument = F32(a.slope) * x
    else:
        argument = x * fma32(GELU_CUBE, x * x, np.full_like(x, GELU_SLOPE))
    return F32(1) / (F32(1) + portable_exp(-argument))


def _value_and_slope(a, x):
    if a.function in ("silu", "gelu"):
        s = _sigmoid(a, x)
        change = s * (F32(1) - s)
        inner = (np.full_like(x, F32(a.slope)) if a.function == "silu" else
                 fma32(F32(3) * GELU_CUBE, x * x, np.full_like(x, GELU_SLOPE)))
        return x * s, np.where(change == 0, s, fma32(x * inner, change, s))
    positive = np.where((x > 0) | np.isnan(x), x, F32(0))
    if a.function == "relu":
        return positive, np.where(np.isnan(x), x, (x > 0).astype(F32))
    return positive * positive, positive + positive


def applied(a, gate, up=None, dy=None):
    """The values to quantize: y, or with dy the gradient of x, or of gate and up side by side."""
    with np.errstate(all="ignore"):
        beyond_gate = beyond_up = False
        if a.limit < np.inf or a.up_offset:
            beyond_gate = gate > F32(a.limit)
            gate = np.where(beyond_gate, F32(a.limit), gate)
            beyond_up = np.abs(up) > F32(a.limit)
            up = np.where(beyond_up, np.copysign(F32(a.limit), up), up) + F32(a.up_offset)
        value, slope = _value_and_slope(a, gate)
        if dy is None:
            return value * up if a.gated else value
        if not a.gated:
            return dy * slope
        return np.concatenate([np.where(beyond_gate, F32(0), dy * up * slope),
                               np.where(beyond_up, F32(0), dy * value)], axis=1)


def exact(a, gate, up, dy):
    """In FP64, without clamps: value, gradient of x or of gate, and gradient of up."""
    gate, up, dy = (np.asarray(v, np.float64) for v in (gate, up, dy))
    if a.function == "silu":
        s = 1 / (1 + np.exp(-a.slope * gate))
        value, slope = gate * s, s + a.slope * gate * s * (1 - s)
    elif a.function == "gelu":
        inner = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)
        change = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * gate**2)
        half = 1 / (1 + np.exp(np.clip(-2 * inner, -700, 700)))  # (1 + tanh(inner)) / 2
        value, slope = gate * half, half + 2 * gate * change * half * (1 - half)
    else:
        power = 1 if a.function == "relu" else 2
        value = np.maximum(gate, 0)**power
        slope = power * np.maximum(gate, 0)**(power - 1) * (gate > 0)
    factor = up + a.up_offset if a.gated else 1.0
    return value * factor, dy * factor * slope, dy * value
