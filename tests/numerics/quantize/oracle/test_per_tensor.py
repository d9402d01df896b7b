"""Per-tensor scaling, current and delayed, both directions."""

import itertools

import numpy as np
import pytest

import formats as f
from activations import FUSED, SWIGLU
from cases import SHAPES, Operand, check, check_partials, run, untouched


def check_codes(outputs, operand, scale, format_name, direction, name):
    row, column = [], []
    for g in range(operand.groups):
        codes = f.fp8_codes(operand.group(g), scale[g], format_name)
        row.append(codes)
        column.append(codes.T)
    starts = operand.output_offsets[:-1] * operand.columns
    check(outputs.read("row_codes"), row if direction != "column" else [], name + " row", starts)
    check(outputs.read("column_codes"), column if direction != "row" else [], name + " column",
          starts)


@pytest.mark.parametrize("format_name", f.FP8)
@pytest.mark.parametrize("type_name", ["bf16", "fp16"])
def test_every_16_bit_pattern(tmp_path, type_name, format_name):
    scales = [1.0, 448 / 3, 57344 / 7, 0.3, 2.0**127, 2.0**-127, 3.4028235e38, 1e-30]
    operand = Operand([256], 256, type_name, spare=0)
    operand.bits = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    operand.values = f.widen(operand.bits, type_name)
    cases = [(operand, dict(format=format_name, scale=np.array([s], f.F32))) for s in scales]
    for scale, outputs in zip(scales, run(tmp_path, "per_tensor", cases)):
        check_codes(outputs, operand, [f.F32(scale)], format_name, "row", f"scale {scale}")


VARIANTS = {
    "row": [(dict(direction="row"), s, None) for s in SHAPES if not s.startswith("pad")],
    "column": [(dict(direction=d), s, None) for d in ("column", "both") for s in SHAPES
               if not s.startswith("pad")],
    "padding": [(dict(direction=d), s, None) for d in ("row", "column", "both")
                for s in ("pad16", "pad128")],
    "bias": [(dict(direction=d, bias=True), s, None) for d in ("row", "both")
             for s in ("k144", "one_hot", "groups65", "pad128")],
    "swiglu": [(dict(direction=d, bias=True), s, SWIGLU) for d in ("row", "both")
               for s in ("k144", "k16", "pad16")],
} | {a.name: [(dict(direction=d, bias=d != "row"), s, a) for d in ("row", "both")
              for s in ("k144", "pad16")] for a in FUSED}


@pytest.mark.parametrize("type_name", f.INPUTS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_current(tmp_path, variant, type_name):
    cases = []
    choices = itertools.cycle([("e4m3", False, 0.0), ("e5m2", True, 0.0), ("e5m2", False, 0.5),
                               ("e4m3", True, 1e-37), ("e5m2", False, 0.0)])
    for settings, shape, activation in VARIANTS[variant]:
        for _ in range(2):
            format_name, pow2, epsilon = next(choices)
            operand = Operand(**SHAPES[shape], type_name=type_name, activation=activation)
            cases.append((operand, dict(settings, format=format_name, pow2=pow2, epsilon=epsilon,
                                        label=shape)))
    for (operand, s), outputs in zip(cases, run(tmp_path, "per_tensor", cases)):
        name = str(s)
        amax = np.array([f.magnitude_max(operand.group(g), None) for g in range(operand.groups)])
        scale = f.scale_of(amax, s["format"], s["pow2"], s["epsilon"])
        check(outputs.read("amax", np.uint32), [amax], name + " amax")
        check(outputs.read("scale", np.uint32), [scale], name + " scale")
        check(outputs.read("scale_inv", np.uint32), [f.F32(1) / scale], name + " inverse")
        check_codes(outputs, operand, scale, s["format"], s["direction"], name)
        if s.get("bias"):
            check_partials(outputs, operand, name)


@pytest.mark.parametrize("type_name", f.INPUTS)
def test_stored_scale_and_history_row(tmp_path, type_name):
    operand = Operand(**SHAPES["pad16"], type_name=type_name)
    rng = np.random.default_rng(5)
    scale = np.exp2(rng.integers(-9, 9, operand.groups)).astype(f.F32) * f.F32(1.3)
    before = np.array([0, 3, 1e38, 0.5, 0], f.F32)
    (outputs,) = run(tmp_path, "per_tensor", [(operand, dict(
        scale=scale, amax_before=before, direction="both", format="e5m2"))])
    amax = [max(before[g], f.magnitude_max(operand.group(g), None)) for g in range(operand.groups)]
    check(outputs.read("amax", np.uint32), [np.array(amax, f.F32)], "history row")
    check(outputs.read("scale_inv", np.uint32), [f.F32(1) / scale], "inverse")
    check_codes(outputs, operand, scale, "e5m2", "both", "stored scale")


def test_noop(tmp_path):
    operand = Operand(**SHAPES["pad16"])
    settings = dict(direction="both", bias=True, noop=1.0)
    current, stored, runs = run(tmp_path, "per_tensor", [
        (operand, settings),
        (operand, settings | dict(scale=np.ones(5, f.F32), amax_before=np.zeros(5, f.F32))),
        (operand, settings | dict(noop=0.5, scale=np.ones(5, f.F32)))])
    for outputs in (current, stored):
        for name in ("row_codes", "column_codes"):
            untouched(outputs.read(name), name)
        untouched(outputs.read("scale_inv", np.uint32), "scale_inv")
        check_partials(outputs, operand, "noop")
    untouched(current.read("amax", np.uint32), "amax")
    assert not stored.read("amax", np.uint32).any()
    check_codes(runs, operand, np.ones(5, f.F32), "e4m3", "both", "noop 0.5")
