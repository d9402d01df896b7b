"""Instructions that fused activations issue per quantized element, counted from the machine code, and the share of a
copy's rate that they permit.

    python3 tests/bench/instruction_counts.py OBJECTS [--copy GB_PER_S] [--clock MHZ] [--walk KERNEL]

OBJECTS is the folder of the compiled kernels' object files, or libkernels_cuda.a. Of each kernel the cheapest walk
through its loop over tiles is counted that does the work of a tile (see machine_code.py), so branches for values near a
rounding boundary, large arguments and partial tiles are not in it: a kernel may issue more, never less. --walk prints
the instructions of one kernel's walk.
"""

import argparse
import collections
import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import machine_code  # noqa: E402
from machine_code import Anchor  # noqa: E402

MULTIPROCESSORS = 132
SCHEDULERS = 4  # each issues one instruction of a warp per cycle

# Lanes per cycle and multiprocessor of compute capability 9.0, as the CUDA C++ Programming Guide has them ("Throughput of
# Native Arithmetic Instructions"); not measured. Where a class has two rates, the higher one: the limit stays a limit.
RATES = {
    "FP32": 128,  # add, multiply, fused multiply-add
    "IMAD": 64,  # 32-bit integer multiply-add, which also moves registers
    "integer": 64,  # add, logic, shift, compare, select, minimum
    "convert": 64,  # to FP8 and BF16
    "MUFU": 16,  # 2^x, 1/x, and conversions between integers and floats
    "shuffle": 32,
    "memory": 32,  # shared, global and local accesses: address slots, not bytes
    "control": 128,  # branches, barriers, uniform registers: an issue slot only
}
CLASSES = (
    ("FP32", r"FFMA|FMUL|FADD"),
    ("IMAD", r"IMAD"),
    ("convert", r"F2FP"),
    ("MUFU", r"MUFU|F2I|I2F|F2F|FRND|POPC|FLO|BREV"),
    ("shuffle", r"SHFL|REDUX|CREDUX"),
    ("memory", r"LD|LDG|LDS|LDL|ST|STG|STS|STL|ATOM|ATOMG|ATOMS|RED|LDGSTS|LDSM|STSM|LDC"),
    ("control", r"BRA|BSSY|BSYNC|BRX|CALL|RET|EXIT|NOP|BAR|WARPSYNC|SYNCS|DEPBAR|MEMBAR|ERRBAR|CCTL|ACQBULK|YIELD|ELECT|"
                r"S2R|S2UR|CS2R|R2UR|VOTE|VOTEU|BMOV|LEPC|U(?!$)[A-Z0-9]+"),
)


def class_of(instruction):
    for name, bases in CLASSES:
        if re.fullmatch(bases, instruction.base):
            return name
    return "integer"


FP8 = r"^(@\S+ )?F2FP\.SATFINITE\.E4M3"
ROW_STORES = r"STG\.E\.64 "
STREAMED = r"LDG\.E\.NA\.128"


class Kernel:
    """`anchors`: the work of one pass of the loop over tiles."""

    def __init__(self, name, symbol, elements, bytes_, anchors):
        self.name = name
        self.symbol = symbol
        self.elements = elements  # quantized by a thread in one pass of the loop over tiles
        self.bytes = bytes_  # compulsory, of one quantized element
        self.anchors = anchors


def tile_symbol(worker, input_):
    return f"tile_kernelINS0_\\d+{worker}WorkerILNS_9InputTypeE0ELNS_9Fp8FormatE0E(LNS0_11TileScalingE0E)?" \
           f"LNS0_9TileInputE{input_}ELb0E"


def value_anchors(fp8, *stores):
    return [Anchor("MUFU.EX2", 64), Anchor(FP8, fp8), Anchor(STREAMED, 16), *stores]


# Of the gradients: 64 pairs of gate and up in a tile.
GRADIENTS = [Anchor(STREAMED, 24), Anchor(FP8, 128)]
FP8_SCALES = 4 / 128
# FCHK is part of a division: a scale of a block that is not all zeros.
KERNELS = [
    Kernel("SwiGLU 1x128 row", r"quantize_block_1x128_kernelILNS_9InputTypeE0ELNS_9Fp8FormatE0ELb1E", 32,
           4 + 1 + FP8_SCALES,
           [Anchor("MUFU.EX2", 32), Anchor(FP8, 16), Anchor(r"LDG\.E\.128", 8), Anchor(ROW_STORES, 4),
            Anchor("FCHK", 2)]),
    Kernel("SwiGLU 1x128 both", tile_symbol("Block", 1), 64, 4 + 2 * (1 + FP8_SCALES),
           value_anchors(64, Anchor(ROW_STORES, 8), Anchor(r"STG\.E\.128", 4), Anchor("FCHK", 2))),
    Kernel("SwiGLU MXFP8 row", tile_symbol("Mxfp8", 1), 64, 4 + 1 + 1 / 32,
           value_anchors(32, Anchor(ROW_STORES, 8))),
    Kernel("SwiGLU MXFP8 both", tile_symbol("Mxfp8", 1), 64, 4 + 2 * (1 + 1 / 32),
           value_anchors(64, Anchor(ROW_STORES, 8), Anchor(r"STG\.E desc", 16))),
    Kernel("gradient 1x128 both", tile_symbol("Block", 2), 128, 3 + 2 * (1 + FP8_SCALES),
           [*GRADIENTS, Anchor(r"STS\.128", 24), Anchor("FCHK", 4)]),
    Kernel("gradient MXFP8 both", tile_symbol("Mxfp8", 2), 128, 3 + 2 * (1 + 1 / 32),
           [*GRADIENTS, Anchor(r"STG\.E desc", 32)]),
]


def walked(kernel, instructions):
    """The cheapest walk through the outermost loop that has one: the loop over tiles."""
    code = machine_code.Code(instructions)
    for begin, _ in sorted(code.loops(), key=lambda loop: loop[0] - loop[1]):
        if walk := machine_code.cheapest_walk(code, begin, kernel.anchors, avoid=r"STG\.E\.U8"):
            return [instructions[i] for i in walk]
    raise LookupError(f"{kernel.name}: no walk: was the kernel's work of a tile changed?")


def cycles_per_element(counts, elements):
    """{limit: cycles of a multiprocessor for one element}"""
    limits = {"issue": sum(counts.values()) / elements / (SCHEDULERS * 32)}
    for name, count in counts.items():
        limits[name] = count / elements / RATES[name]
    return limits


def objects(path):
    return sorted(glob.glob(os.path.join(path, "**", "*.o"), recursive=True)) if os.path.isdir(path) else [path]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    arguments.add_argument("objects")
    arguments.add_argument("--copy", type=float, default=4208.0, help="GB/s of a device copy")
    arguments.add_argument("--clock", type=float, default=1755.0, help="MHz")
    arguments.add_argument("--walk", help="print the instructions of this kernel's walk")
    given = arguments.parse_args()
    if machine_code.tool_folder() is None:
        sys.exit("cuobjdump is not installed")
    pattern = "|".join(kernel.symbol for kernel in KERNELS)
    functions = {}
    for path in objects(given.objects):
        functions |= machine_code.parse(machine_code.disassembled(path, pattern), pattern)
    if not given.walk:
        print("| kernel | " + " | ".join(RATES) + " | instructions | limit | share of a copy permitted |")
        print("|" + " --- |" * (len(RATES) + 4))
    for kernel in KERNELS:
        if given.walk and given.walk != kernel.name:
            continue
        symbols = [symbol for symbol in functions if re.search(kernel.symbol, symbol)]
        if len(symbols) != 1:
            sys.exit(f"{kernel.name}: {len(symbols)} kernels instead of one")
        walk = walked(kernel, functions[symbols[0]])
        if given.walk:
            print("\n".join(f"{instruction.address:06x}  {instruction.text}" for instruction in walk))
            continue
        counts = collections.Counter(map(class_of, walk))
        limits = cycles_per_element(counts, kernel.elements)
        limit = max(limits, key=limits.get)
        seconds = limits[limit] / (MULTIPROCESSORS * given.clock * 1e6)
        share = kernel.bytes / (given.copy * 1e9) / seconds
        print(f"| {kernel.name} | " + " | ".join(f"{counts[name] / kernel.elements:.1f}" for name in RATES) +
              f" | {sum(counts.values()) / kernel.elements:.1f} | {limit} | {share:.2f} |")


if __name__ == "__main__":
    main()
