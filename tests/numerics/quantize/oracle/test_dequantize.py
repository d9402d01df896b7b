"""Dequantize of arbitrary codes and scales: every layout, direction, code and output type."""

import itertools

import numpy as np
import pytest

import formats as f
from cases import BYTE_SENTINEL, SHAPES, run, same_floats
from layouts import cdiv, float_scales, micro_scales, nibbles, round_up, spread

BLOCKS = {"per_tensor": None, "1x128": (1, 128), "1x64": (1, 64), "128x128": (128, 128),
          "mx1x32": (1, 32), "mx32x32": (32, 32), "nv1x16": (1, 16), "nv16x16": (16, 16)}
INVERSE_RANGE = f.F32(1) / f.F32(6 * 448)


def block_shape(layout, column):
    rows, columns = BLOCKS[layout]
    return (columns, rows) if column and rows == 1 else (rows, columns)


def repeated(values, layout, column, rows, columns):
    """One value per block -> [lines, scales of a line], as the one-byte layouts store them."""
    height, width = block_shape(layout, column)
    if column:
        return np.repeat(values, width, axis=1)[:, :columns].T
    return np.repeat(values, height, axis=0)[:rows]


class Encoded:
    """One direction of a grouped operand: what is stored, and the values it represents."""

    def __init__(self, rng, shape, layout, column, format_name, swizzled, hadamard, type_name):
        columns = shape["columns"]
        step = shape.get("padding") or 1
        splits = np.array(shape["splits"])
        padded = np.array([round_up(int(s), step) for s in splits])
        code_offsets = np.concatenate([[0], np.cumsum(padded)]).astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(splits)]).astype(np.int64)
        codes, scales, values = [], [], []
        amax = np.exp2(rng.integers(-20, 20, len(splits))).astype(f.F32) * f.F32(1.7)
        for g, rows in enumerate(padded):
            rows = int(rows)
            stored = self.one_group(rng, rows, columns, layout, column, format_name, swizzled,
                                    hadamard, amax[g])
            codes.append(stored[0].reshape(-1))
            scales.append(stored[1].reshape(-1))
            values.append(stored[2][:splits[g]])
        spare = shape.get("spare", 3)
        scales = np.concatenate(scales)
        if scales.dtype == np.uint8:
            scales = np.pad(scales, (0, -scales.size % 4))
        self.values = np.concatenate(values)
        self.columns, self.spare = columns, spare
        self.settings = dict(
            layout=layout, block=BLOCKS[layout][1] if BLOCKS[layout] else 128,
            direction="column" if column else "row", format=format_name, swizzled=swizzled, hadamard=hadamard, type=type_name, columns=columns,
            codes=np.concatenate(codes), scales=scales, code_offsets=code_offsets,
            code_capacity=int(code_offsets[-1]) + spare,
            output_capacity=int(offsets[-1]) + spare)
        if layout.startswith("nv"):
            self.settings["amax"] = amax
        if step > 1:
            self.settings["output_offsets"] = offsets

    @staticmethod
    def one_group(rng, rows, columns, layout, column, format_name, swizzled, hadamard, amax):
        def blocks(of_rows):
            height, width = block_shape(layout, column)
            return cdiv(of_rows, height), cdiv(columns, width), height, width

        if layout.startswith("nv"):
            deep = round_up(rows, 16) if column else rows
            codes = rng.integers(0, 16, (deep, columns)).astype(np.uint8)
            down, across, height, width = blocks(deep)
            byte = rng.integers(0, 0x7F, (down, across)).astype(np.uint8)
            factor = f.fp8_values(byte, "e4m3") * amax * INVERSE_RANGE
            values = f.e2m1_values(codes) * spread(factor, height, width, codes.shape)
            if hadamard and values.size:
                lines = values.T.reshape(columns, -1, 16)
                undone = f.walsh(lines) * f.F32(0.25) * f.HADAMARD_SIGNS
                values = undone.reshape(columns, deep).T
            stored = nibbles(np.ascontiguousarray(codes.T if column else codes))
            lines = repeated(byte, layout, column, rows, columns)
            return stored, micro_scales(lines, swizzled, False), values
        codes = rng.integers(0, 256, (rows, columns)).astype(np.uint8)
        decoded = f.fp8_values(codes, format_name)
        with np.errstate(all="ignore"):
            if layout == "per_tensor":
                scale = f.F32(rng.exponential())
                return codes.T if column else codes, np.array([scale]), decoded * scale
            down, across, height, width = blocks(rows)
            if layout.startswith("mx"):
                byte = rng.integers(0, 256, (down, across)).astype(np.uint8)
                values = decoded * spread(f.e8m0_value(byte), height, width, codes.shape)
                lines = repeated(byte, layout, column, rows, columns)
                return codes, micro_scales(lines, swizzled, column), values
            scale = np.exp2(rng.uniform(-149, 120, (down, across))).astype(f.F32)
            values = decoded * spread(scale, height, width, codes.shape)
            square = layout == "128x128"
            return (codes.T if column else codes,
                    float_scales(scale, column == square, f.F32(np.nan)), values)


@pytest.mark.parametrize("column", [False, True], ids=["row", "column"])
@pytest.mark.parametrize("layout", BLOCKS)
def test_dequantize(tmp_path, layout, column):
    rng = np.random.default_rng(11)
    choices = itertools.cycle(itertools.product(f.FP8, (False, True), f.INPUTS))
    cases = []
    for shape in SHAPES.values():
        for _ in range(3):
            format_name, swizzled, type_name = next(choices)
            hadamard = column and layout == "nv1x16" and swizzled
            cases.append(Encoded(rng, shape, layout, column, format_name, swizzled, hadamard,
                                 type_name))
        next(choices)
    for case, outputs in zip(cases, run(tmp_path, "dequantize",
                                        [(None, case.settings) for case in cases])):
        type_name = case.settings["type"]
        raw = outputs.read("output", f.INPUTS[type_name][1])
        active = case.values.size
        want = f.widen(f.narrow(case.values, type_name), type_name)
        name = f"{layout} {type_name} {case.settings['code_offsets'][-1]} x {case.columns}"
        same_floats(f.widen(raw[:active], type_name), want, name)
        assert (raw[active:].view(np.uint8) == BYTE_SENTINEL).all(), name
