"""FP8 block scaling: 1x128, 1x64 and 128x128, row and column, padding, SwiGLU, bias partials."""

import itertools

import numpy as np
import pytest

import formats as f
from activations import FUSED, SWIGLU
from cases import FLOAT_SENTINEL, SHAPES, Operand, check, check_partials, run, untouched
from layouts import float_scales, padded, spread

SENTINEL = np.array(FLOAT_SENTINEL).view(f.F32)


def block_amax(values, rows, columns):
    full = padded(values, rows, columns)
    tiles = full.reshape(full.shape[0] // rows, rows, full.shape[1] // columns, columns)
    return f.magnitude_max(tiles, (1, 3))


def check_direction(outputs, operand, s, column, name):
    """One direction of all groups: codes, inverse scales and amax, raw."""
    prefix = "column" if column else "row"
    square, block = s["square"], s["block"]
    rows, columns = (block, block) if square else ((block, 1) if column else (1, block))
    all_codes, all_inverse, all_amax = [], [], []
    for g in range(operand.groups):
        values = operand.group(g)
        amax = block_amax(values, rows, columns)
        scale = f.scale_of(amax, s["format"], s["pow2"], s["epsilon"],
                           f.INPUTS[operand.type][2])
        codes = f.fp8_codes(values, spread(scale, rows, columns, values.shape), s["format"])
        all_codes.append(codes.T if column else codes)
        transposed = column == square
        all_inverse.append(float_scales(f.F32(1) / scale, transposed, SENTINEL))
        all_amax.append(float_scales(amax, transposed, SENTINEL))
    check(outputs.read(prefix + "_codes"), all_codes, f"{name} {prefix} codes",
          operand.output_offsets[:-1] * operand.columns)
    check_floats(outputs.read(prefix + "_scale_inv", np.uint32), all_inverse, f"{name} inverse")
    check_floats(outputs.read(prefix + "_amax", np.uint32), all_amax, f"{name} amax")


def check_floats(got, parts, name):
    check(got, [part.view(np.uint32) for part in parts], name)


def check_case(outputs, operand, s):
    name = str(s)
    for column, other in ((False, "column"), (True, "row")):
        prefix = "column" if column else "row"
        if s["direction"] == other:
            for part, dtype in (("codes", np.uint8), ("scale_inv", np.uint32),
                                ("amax", np.uint32)):
                untouched(outputs.read(f"{prefix}_{part}", dtype), f"{name} {prefix}")
        else:
            check_direction(outputs, operand, s, column, name)
    if s.get("bias"):
        check_partials(outputs, operand, name)
    else:
        untouched(outputs.read("partials", np.uint32), name)


PLAIN = [s for s in SHAPES if not s.startswith("pad")]
VARIANTS = {
    "row": ([dict(direction="row")], PLAIN, None),
    "column": ([dict(direction="column"), dict(direction="both")], PLAIN, None),
    "padding": ([dict(direction=d) for d in ("row", "column", "both")], ["pad16", "pad128"],
                None),
    "bias": ([dict(direction=d, bias=True) for d in ("row", "both")],
             ["k144", "one_hot", "groups65", "pad128"], None),
    "swiglu": ([dict(direction=d, bias=True) for d in ("row", "both")],
               ["k144", "k16", "pad16"], SWIGLU),
} | {a.name: ([dict(direction=d, bias=True) for d in ("row", "both")], ["k144", "pad16"], a)
     for a in FUSED}
BLOCKS = pytest.mark.parametrize(
    "block, square", [(128, False), (64, False), (128, True)],
    ids=["1x128", "1x64", "128x128"])


@BLOCKS
@pytest.mark.parametrize("type_name", f.INPUTS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_block(tmp_path, variant, type_name, block, square):
    choices = itertools.cycle([("e4m3", True, 0.0), ("e5m2", False, 0.0), ("e4m3", False, 0.5),
                               ("e5m2", True, 1e-37), ("e4m3", False, 0.0)])
    settings, shapes, activation = VARIANTS[variant]
    cases = []
    for shape, directions in itertools.product(shapes, settings):
        if shape == "groups1024" and directions["direction"] == "column":
            continue  # slow here: a loop over groups
        for _ in range(2):
            format_name, pow2, epsilon = next(choices)
            operand = Operand(**SHAPES[shape], type_name=type_name, activation=activation)
            cases.append((operand, dict(directions, format=format_name, pow2=pow2,
                                        epsilon=epsilon, block=block, square=square,
                                        label=shape)))
    for (operand, s), outputs in zip(cases, run(tmp_path, "block", cases)):
        check_case(outputs, operand, s)


@BLOCKS
def test_noop(tmp_path, block, square):
    operand = Operand(**SHAPES["pad128"])
    s = dict(direction="both", format="e4m3", pow2=True, epsilon=0.0, block=block, square=square,
             bias=True)
    stays, runs = run(tmp_path, "block", [(operand, s | dict(noop=1.0)),
                                          (operand, s | dict(noop=0.5))])
    check_case(runs, operand, s)
    for name, dtype in itertools.product(("row", "column"), (("codes", np.uint8),
                                         ("scale_inv", np.uint32), ("amax", np.uint32))):
        untouched(stays.read(f"{name}_{dtype[0]}", dtype[1]), name)
    check_partials(stays, operand, "noop")


def test_sizes_of_the_layouts():
    scale = np.arange(10, dtype=f.F32).reshape(5, 2)  # 5 rows or row blocks, 2 column blocks
    assert float_scales(scale, True, SENTINEL).size == 2 * 8
    assert float_scales(scale, False, SENTINEL).size == 5 * 4
