"""Bias partials alone and the bias gradient: exact order, and close to FP64."""

import itertools

import numpy as np
import pytest

import formats as f
from activations import SWIGLU
from cases import SHAPES, Operand, bias_partials, check_partials, run, same_floats


def gradient_before(operand, output_type):
    rng = np.random.default_rng(3)
    values = rng.standard_normal((operand.groups, operand.columns)).astype(f.F32)
    return f.narrow(values, output_type)


@pytest.mark.parametrize("activation", [None, SWIGLU, SWIGLU.of_gradient()],
                         ids=["input", "swiglu", "gradient"])
@pytest.mark.parametrize("type_name", f.INPUTS)
def test_bias(tmp_path, type_name, activation):
    cases = []
    flags = itertools.cycle([False, True, True])
    for shape, output_type in itertools.product(
            ["k144", "k2880", "k16", "groups65", "groups1024", "empty", "one_hot"], f.INPUTS):
        operand = Operand(**SHAPES[shape], type_name=type_name, activation=activation,
                          mild=shape in ("k2880", "one_hot"))
        cases.append((operand, dict(output_type=output_type, accumulate=next(flags), label=shape,
                                    gradient_before=gradient_before(operand, output_type))))
    for (operand, s), outputs in zip(cases, run(tmp_path, "bias", cases)):
        name = f"{s['label']} {s['output_type']} accumulate {s['accumulate']}"
        check_partials(outputs, operand, name)
        sums = np.zeros((operand.groups, operand.columns), f.F32)
        with np.errstate(all="ignore"):
            for g, strips in enumerate(bias_partials(operand)):
                for strip in strips:
                    sums[g] = sums[g] + strip
            if s["accumulate"]:
                sums = sums + f.widen(s["gradient_before"], s["output_type"])
        got = outputs.read("gradient", f.INPUTS[s["output_type"]][1])
        want = f.widen(f.narrow(sums, s["output_type"]), s["output_type"])
        same_floats(f.widen(got, s["output_type"]), want, name)


def test_bias_is_close_to_fp64(tmp_path):
    operand = Operand([300, 0, 1000], 144, "fp32", mild=True)
    before = gradient_before(operand, "fp32")
    (outputs,) = run(tmp_path, "bias", [(operand, dict(output_type="fp32",
                                                       gradient_before=before))])
    got = outputs.read("gradient", f.F32).reshape(before.shape)
    exact = np.stack([operand.group(g, False).astype(np.float64).sum(axis=0) for g in range(3)])
    magnitude = np.stack([np.abs(operand.group(g, False)).sum(axis=0) for g in range(3)])
    assert (np.abs(got - exact) <= 1e-6 * magnitude).all()
