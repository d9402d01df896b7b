"""NVFP4: two-level scales, Hadamard transform, stochastic rounding, squares, both directions."""

import itertools

import numpy as np
import pytest

import formats as f
from cases import SHAPES, Operand, check, run, untouched
from layouts import micro_scales, nibbles, padded, spread
from test_block import block_amax

STATE = np.array([0x123456789ABCDEF0, 0xFEDCBA9876543210], np.uint64)


def source(operand, g, column, transform):
    """What a direction quantizes: lines of whole blocks of 16, transposed if columnwise."""
    values = operand.group(g)
    if not column:
        return values
    lines = np.ascontiguousarray(padded(values, 16, 1).T)
    if transform and lines.size:
        lines = f.hadamard(lines.reshape(len(lines), -1, 16)).reshape(lines.shape)
    return lines


def encode_scales(amax, block):
    with np.errstate(all="ignore"):
        amax = f.F32(amax)
        s_enc = f.F32(1)
        if amax > 0 and np.isfinite(amax):
            s_enc = np.minimum(f.F32(448 * 6) / amax, f.FLT_MAX)
        s_dec = f.F32(1) / s_enc
        sf = f.fp8_codes(block, s_enc * (f.F32(1) / f.F32(6)), "e4m3")
        encode = np.minimum(f.F32(1) / (f.fp8_values(sf, "e4m3") * s_dec), f.FLT_MAX)
    return sf, encode.astype(f.F32)


def random_bytes(first_block, blocks, column):
    number = np.arange(first_block, first_block + blocks, dtype=np.uint64)
    if column:
        number |= np.uint64(1 << 63)
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    offset = np.full_like(number, STATE[1])
    counter = np.stack([number & low, number >> shift, offset & low, offset >> shift], axis=1)
    words = f.philox(counter.astype(np.uint32), (STATE[0] & low, STATE[0] >> shift))
    return words.view(np.uint8).reshape(blocks, 16)  # little endian: lowest byte first


def quantize_group(lines, amax, s, column, byte_offset):
    if s["square"]:
        block = block_amax(lines, 16, 16)
        block = np.repeat(block, 16, axis=0)[:len(lines)]
    else:
        block = block_amax(lines, 1, 16)
    sf, encode = encode_scales(amax, block)
    with np.errstate(all="ignore"):
        scaled = lines * spread(encode, 1, 16, lines.shape)
    if s["stochastic"]:
        jitter = random_bytes(byte_offset // 8, lines.size // 16, column).reshape(lines.shape)
        codes = f.e2m1_stochastic_codes(scaled, jitter)
    else:
        codes = f.e2m1_codes(scaled)
    return sf, codes


def check_case(outputs, operand, s):
    name = str(s)
    for column, other in ((False, "column"), (True, "row")):
        prefix = "column" if column else "row"
        if s["direction"] == other:
            untouched(outputs.read(prefix + "_codes"), name)
            untouched(outputs.read(prefix + "_scales"), name)
            untouched(outputs.read(prefix + "_amax", np.uint32), name)
            continue
        all_amax, all_codes, all_scales, at = [], [], [], 0
        for g in range(operand.groups):
            lines = source(operand, g, column, s["hadamard"])
            amax = f.magnitude_max(lines, None)
            sf, codes = quantize_group(lines, amax, s, column, at)
            all_amax.append(amax)
            all_codes.append(nibbles(codes))
            all_scales.append(micro_scales(sf, s["swizzled"], False))
            at += codes.size // 2
        check(outputs.read(prefix + "_amax", np.uint32), [np.array(all_amax, f.F32)],
              f"{name} {prefix} amax")
        check(outputs.read(prefix + "_scales"), all_scales, f"{name} {prefix} scales")
        check(outputs.read(prefix + "_codes"), all_codes, f"{name} {prefix} codes")


MODES = {"nearest": dict(), "square": dict(square=True), "hadamard": dict(hadamard=True),
         "stochastic": dict(stochastic=True),
         "hadamard_stochastic": dict(hadamard=True, stochastic=True)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("type_name", f.INPUTS)
def test_nvfp4(tmp_path, type_name, mode):
    swizzled = itertools.cycle([False, True, True])
    cases = []
    for (shape, layout), direction, mild in itertools.product(
            SHAPES.items(), ("row", "column", "both"), (False, True)):
        if mode == "hadamard" and direction == "row" or mild and direction != "both":
            continue
        if shape == "groups1024" and (mild or direction != "both"):
            continue  # slow here: a loop over groups
        settings = dict(square=False, hadamard=False, stochastic=False, random_state=STATE,
                        swizzled=next(swizzled), direction=direction, label=shape)
        cases.append((Operand(**layout, type_name=type_name, mild=mild), settings | MODES[mode]))
    for (operand, s), outputs in zip(cases, run(tmp_path, "nvfp4", cases)):
        check_case(outputs, operand, s)


def test_noop(tmp_path):
    operand = Operand(**SHAPES["pad16"])
    s = dict(direction="both", square=False, hadamard=True, stochastic=False, swizzled=False,
             noop=1.0)
    (outputs,) = run(tmp_path, "nvfp4", [(operand, s)])
    for name in ("row_codes", "row_scales", "column_codes", "column_scales"):
        untouched(outputs.read(name), name)
    for name in ("row_amax", "column_amax"):
        untouched(outputs.read(name, np.uint32), name)
