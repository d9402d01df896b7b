"""MXFP8: E8M0 scales, compact and swizzled, lines and squares, both directions."""

import itertools

import numpy as np
import pytest

import formats as f
from activations import FUSED
from cases import SHAPES, Operand, check, check_partials, run, untouched
from layouts import micro_scales, spread
from test_block import block_amax


def check_case(outputs, operand, s):
    name = str(s)
    for column, other in ((False, "column"), (True, "row")):
        prefix = "column" if column else "row"
        if s["direction"] == other:
            untouched(outputs.read(prefix + "_codes"), name)
            untouched(outputs.read(prefix + "_scales"), name)
            continue
        rows, columns = (32, 32) if s["square"] else ((32, 1) if column else (1, 32))
        all_codes, all_scales = [], []
        for g in range(operand.groups):
            values = operand.group(g)
            byte = f.e8m0_of(block_amax(values, rows, columns), s["format"])
            multiplier = spread(f.e8m0_multiplier(byte), rows, columns, values.shape)
            all_codes.append(f.fp8_codes(values, multiplier, s["format"]))
            if column:  # [columns, row blocks]
                lines = np.repeat(byte, columns, axis=1)[:, :operand.columns].T
            else:
                lines = np.repeat(byte, rows, axis=0)[:len(values)]
            all_scales.append(micro_scales(lines, s["swizzled"], column))
        check(outputs.read(prefix + "_scales"), all_scales, f"{name} {prefix} scales")
        check(outputs.read(prefix + "_codes"), all_codes, f"{name} {prefix} codes",
              operand.output_offsets[:-1] * operand.columns)
    if s.get("bias"):
        check_partials(outputs, operand, name)
    else:
        untouched(outputs.read("partials", np.uint32), name)


def cases_of(type_name, square, activation, settings, shapes):
    choices = itertools.cycle(itertools.product(f.FP8, (False, True)))
    for shape, directions in itertools.product(shapes, settings):
        if shape == "groups1024" and directions["direction"] != "both":
            continue  # slow here: a loop over groups
        for _ in range(2):
            format_name, swizzled = next(choices)
            operand = Operand(**SHAPES[shape], type_name=type_name, activation=activation)
            yield operand, dict(directions, format=format_name, swizzled=swizzled, square=square,
                                label=shape)
        next(choices)


@pytest.mark.parametrize("square", [False, True], ids=["lines", "squares"])
@pytest.mark.parametrize("type_name", f.INPUTS)
def test_mxfp8(tmp_path, type_name, square):
    cases = list(cases_of(type_name, square, None,
                          [dict(direction=d) for d in ("row", "column", "both")], SHAPES))
    for (operand, s), outputs in zip(cases, run(tmp_path, "mxfp8", cases)):
        check_case(outputs, operand, s)


@pytest.mark.parametrize("activation", [None, *FUSED],
                         ids=lambda a: a.name if a else "bias")
@pytest.mark.parametrize("type_name", f.INPUTS)
def test_mxfp8_bias(tmp_path, type_name, activation):
    cases = [case for square in (False, True) for case in cases_of(
        type_name, square, activation, [dict(direction=d, bias=True) for d in ("row", "both")],
        ["k144", "one_hot", "k16", "pad128"])]
    for (operand, s), outputs in zip(cases, run(tmp_path, "mxfp8", cases)):
        check_case(outputs, operand, s)


def test_noop(tmp_path):
    operand = Operand(**SHAPES["pad16"])
    s = dict(direction="both", format="e4m3", swizzled=False, square=False, bias=True)
    stays, runs = run(tmp_path, "mxfp8", [(operand, s | dict(noop=1.0)),
                                          (operand, s | dict(noop=2.0))])
    check_case(runs, operand, s)
    for name in ("row_codes", "row_scales", "column_codes", "column_scales"):
        untouched(stays.read(name), name)
    check_partials(stays, operand, "noop")
