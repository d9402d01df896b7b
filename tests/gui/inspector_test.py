"""What the element inspector shows for a number - code, bits, value, scale, decoded, error - computed
again with numpy and ml_dtypes from the tensor alone: for every recipe, for X, W and dY, with 1D and
square blocks, and for the codes of Hadamard-transformed elements.

Usage: inspector_test.py EXPERTSCOPE PRINT_READINGS
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import ml_dtypes
import numpy as np

PRINTER = sys.argv.pop()
PROGRAM = sys.argv.pop()
EXPERTS, ROWS, COLUMNS = 2, 64, 256  # rows of all experts together
F32 = np.float32
FORMATS = {"E4M3": (ml_dtypes.float8_e4m3fn, F32(448), 8, 3),
           "E5M2": (ml_dtypes.float8_e5m2, F32(57344), 8, 2),
           "E2M1": (ml_dtypes.float4_e2m1fn, F32(6), 4, 1)}
BF16_MAX = F32(ml_dtypes.finfo(ml_dtypes.bfloat16).max)


def block_amax(part, rows, columns):
    """Largest magnitude of every block, at every element; NaN does not count."""
    high, wide = -(-part.shape[0] // rows), -(-part.shape[1] // columns)
    padded = np.zeros((high * rows, wide * columns), F32)
    padded[:part.shape[0], :part.shape[1]] = np.nan_to_num(np.abs(part), nan=0, posinf=np.inf)
    amax = padded.reshape(high, rows, wide, columns).max(axis=(1, 3))
    return np.repeat(np.repeat(amax, rows, 0), columns, 1)[:part.shape[0], :part.shape[1]]


def scale_of(amax, largest, pow2, overflow):
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        scale = (largest / amax).astype(F32)
    scale = np.where(np.isinf(scale), F32(overflow), scale)
    scale = np.where(np.isfinite(amax) & (amax > 0), scale, F32(1)).astype(F32)
    return (scale.view(np.uint32) & np.uint32(0xFF800000)).view(F32) if pow2 else scale


def e8m0(amax, largest):
    """The exponent byte of a block: rounded up, so that nothing overflows."""
    bits = (amax * (F32(1) / largest)).astype(F32).view(np.uint32)
    exponent, mantissa = bits >> 23, bits & np.uint32(0x7FFFFF)
    up = (mantissa > 0) & (exponent != 0xFE) & ~((exponent == 0) & (mantissa <= 0x400000))
    return np.where(amax == 0, 0, np.where(np.isinf(amax), 0xFE, exponent + up)).astype(np.int64)


SIGNS = np.array([-1 if 0xD7E8 >> i & 1 else 1 for i in range(16)], F32)


def walsh(blocks):
    """Sums over axis 1, 16 long, in float32, in the order that the kernels have."""
    y = blocks.astype(F32).copy()
    for distance in (1, 2, 4, 8):
        for i in range(16):
            if not i & distance:
                low, high = y[:, i].copy(), y[:, i + distance].copy()
                y[:, i], y[:, i + distance] = low + high, low - high
    return y * F32(0.25)


def transformed(part):
    """Transforms every 16 consecutive rows: what the columnwise copy of NVFP4 quantizes."""
    blocks = part.reshape(-1, 16, part.shape[1]) * SIGNS[None, :, None]
    return walsh(blocks).astype(ml_dtypes.bfloat16).astype(F32).reshape(part.shape)


def undone(decoded):
    blocks = walsh(decoded.astype(F32).reshape(-1, 16, decoded.shape[1]))
    return (blocks * SIGNS[None, :, None]).reshape(decoded.shape)


def encode(part, kind, square, weights):
    """(factor before rounding, factor after it), at every element of one expert's part."""
    scaling, name, pow2, columnwise = kind
    _, largest, _, _ = FORMATS[name]

    def oriented(rows, columns):
        # Among the formats with small blocks, only weights have square ones.
        if square and (weights or columns == 128):
            return columns, columns
        return (columns, rows) if columnwise else (rows, columns)

    if scaling == "mxfp8":
        byte = e8m0(block_amax(part, *oriented(1, 32)), largest)
        return (np.exp2(127.0 - byte).astype(F32), np.exp2(byte - 127.0))
    if scaling == "nvfp4":
        whole = np.abs(part).max()
        global_scale = F32(2688) / whole if whole > 0 else F32(1)
        amax = block_amax(part, *oriented(1, 16))
        block = np.minimum(amax * (global_scale * (F32(1) / F32(6))), F32(448))
        block = block.astype(ml_dtypes.float8_e4m3fn).astype(F32)
        with np.errstate(divide="ignore"):
            factor = F32(1) / (block * (F32(1) / global_scale))
        factor = np.minimum(factor, np.finfo(F32).max).astype(F32)
        return factor, block.astype(np.float64) * whole / 2688
    if scaling == "fp8-block":
        amax, overflow = block_amax(part, *oriented(1, 128)), BF16_MAX
    else:
        amax, overflow = np.full(part.shape, np.abs(part).max(), F32), np.finfo(F32).max
    top = F32(largest * 2.0 ** -MARGIN) if scaling == "fp8-delayed" else largest
    scale = scale_of(amax, top, pow2, overflow)
    return scale, (F32(1) / scale).astype(np.float64)


MARGIN = -2  # for delayed scaling: four times the scale that fits, so that elements saturate


def code_of(scaled, name):
    kind, largest, bits, _ = FORMATS[name]
    code = np.clip(scaled, -largest, largest).astype(kind).view(np.uint8)
    return code & ((1 << bits) - 1)


class Inspector(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        generator = np.random.default_rng(11)
        x = generator.standard_normal((ROWS, COLUMNS)) * np.exp2(
            generator.integers(-12, 6, (ROWS, COLUMNS)))
        x[0, :128] = 0  # a zero block in every layout of a row
        x[1] = 0
        x[5, 40] = 3000  # an outlier: its neighbours underflow
        x[6, 3] = -1e-30
        x[32:, 17] = 0  # and one in a column
        cls.x = x.astype(ml_dtypes.bfloat16).astype(F32)
        cls.offsets = [0, ROWS // EXPERTS, ROWS]

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def setUp(self):
        self.operand, self.hadamard, self.square = "activations", False, False
        self.worked_out = {}

    def readings(self, name, *arguments):
        path = os.path.join(self._folder.name, name)
        np.save(path + ".npy", self.x)
        # The tensor is X, the weights of both experts concatenated, or dY.
        shape = {"activations": (ROWS, 64, COLUMNS), "weights": (ROWS, ROWS // EXPERTS, COLUMNS),
                 "gradients": (ROWS, COLUMNS, 64)}[self.operand]
        prefix = "products." if self.operand == "gradients" else ""
        if self.operand == "gradients":
            arguments += ("--passes", "forward-backward")
        square = {"activations": "square_activation_blocks", "weights": "square_weight_blocks",
                  "gradients": "square_gradient_blocks"}[self.operand]
        compared = subprocess.run(
            [PROGRAM, "compare", "--worker-backend", "cpu", "--operand", self.operand,
             f"--{prefix}{self.operand}.file.path", path + ".npy",
             "--num_experts", str(EXPERTS), "--tokens", str(shape[0]), "--n", str(shape[1]), "--k",
             str(shape[2]), "--hadamard", str(self.hadamard).lower(), f"--{square}",
             str(self.square).lower(), "--margin", str(MARGIN), "--timed_launches", "0", "--output",
             path + ".session", *map(str, arguments)], capture_output=True, text=True, timeout=100)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        printed = subprocess.run([PRINTER, path + ".session"], capture_output=True, text=True,
                                 timeout=60)
        self.assertEqual(printed.returncode, 0, printed.stderr)
        return [json.loads(line) for line in printed.stdout.splitlines()]

    def expected(self, kind):
        if kind not in self.worked_out:
            codes = np.zeros(self.x.shape, np.uint8)
            inverse = np.zeros(self.x.shape)
            scaled = np.zeros(self.x.shape, F32)
            back = None
            for first, last in zip(self.offsets, self.offsets[1:]):
                part = self.x[first:last]
                if self.transforms(kind):
                    part = transformed(part)
                factor, inverse[first:last] = encode(part, kind, self.square,
                                                     self.operand == "weights")
                scaled[first:last] = part * factor
                codes[first:last] = code_of(scaled[first:last], kind[1])
            if self.transforms(kind):
                values = codes.view(FORMATS[kind[1]][0]).astype(F32)
                back = undone(values * inverse.astype(F32))
            self.worked_out[kind] = codes, inverse, scaled, back
        return self.worked_out[kind]

    def transforms(self, kind):
        return (self.hadamard and kind[0] == "nvfp4" and kind[3] and self.operand != "weights")

    def check(self, reading):
        kind = tuple(reading[key] for key in ("scaling", "format", "pow2", "columnwise"))
        codes, inverse, scaled, back = self.expected(kind)
        row, column = reading["row"], reading["column"]
        where = (kind, row, column, reading)
        number_type, largest, bits, mantissa = FORMATS[kind[1]]
        code = int(codes[row, column])
        x = float(self.x[row, column])
        self.assertLess(abs(float(reading["original"]) - x), 1e-6 * abs(x) + 1e-45, where)
        hexadecimal, shown = reading["code"].split("   ")
        self.assertEqual(int(hexadecimal, 16), code, where)
        self.assertEqual(shown.replace(" ", ""), f"{code:0{bits}b}", where)
        self.assertEqual(len(shown.split(" ")[2]), mantissa, where)
        value = float(np.array([code], np.uint8).view(number_type)[0])
        self.assertEqual(float(reading["value"].split("=")[1]), value, where)
        self.spelled_out(reading["value"].split("=")[0], value, where)
        factors = re.fullmatch(r"(\S+) x (\S+) = ([^\s,]+)(?:, Hadamard undone (\S+))?",
                               reading["decoded"])
        self.assertIsNotNone(factors, where)
        self.assertEqual(factors[4] is not None, back is not None, where)
        scale, decoded = float(factors[2]), value * float(inverse[row, column])
        self.assertEqual(float(factors[1]), value, where)
        # The scale of NVFP4 is the product of two factors, rounded to a float in between.
        near = 1.2e-7 if kind[0] == "nvfp4" else 1e-8
        self.assertLess(abs(scale - inverse[row, column]), near * scale + 1e-45, where)
        self.assertLess(abs(float(factors[3]) - decoded), 1e-6 * abs(decoded) + 1e-45, where)
        error = float(re.match(r"error (\S+)", reading["error"])[1])
        slack = 0
        if back is not None:
            # A sum of 16 floats: close in units of the largest of them.
            decoded, slack = float(back[row, column]), 4e-6 * self.largest
            self.assertLess(abs(float(factors[4]) - decoded), 1e-6 * abs(decoded) + slack, where)
            self.assertNotIn("ulp", reading["error"], where)
            self.undone += 1
        # Printed with three digits; a decoded value is a float.
        self.assertLess(abs(error - (decoded - x)), 6e-3 * abs(decoded - x) + 2e-7 * abs(x) + slack
                        + 1e-45, where)
        if back is None:
            self.ulp(reading, x * 1.0, scaled[row, column], value, mantissa, where)
        self.seen.add((kind[0], kind[1], kind[2], kind[3]))
        if abs(scaled[row, column]) > largest:
            self.saturated += 1
        if x == 0 or (value == 0 and x != 0):
            self.zeros += 1

    def spelled_out(self, text, value, where):
        """ "+1.625 x 2^0": sign, fraction and power make the value."""
        text = text.strip().removesuffix(" (subnormal)")
        parts = re.fullmatch(r"([+-])(\S+) x 2\^(-?\d+)", text)
        if parts is None:
            self.assertEqual((text[1:], value), ("0", 0), where)
            return
        self.assertEqual(float(parts[1] + parts[2]) * 2.0 ** int(parts[3]), value, where)

    def ulp(self, reading, x, scaled, value, mantissa, where):
        said = re.search(r"([\d.]+) ulp", reading["error"])
        if x == 0 or said is None:
            return
        smallest = {3: -6, 2: -14, 1: 0}[mantissa]
        power = max(np.floor(np.log2(abs(value))) if value else smallest, smallest)
        steps = abs(float(scaled) - value) / 2.0 ** (power - mantissa)
        self.assertLess(abs(float(said[1]) - steps), 0.006 + 1e-4 * steps, where)

    def check_all(self, readings, scalings):
        self.seen, self.saturated, self.zeros, self.undone = set(), 0, 0, 0
        self.largest = float(np.abs(self.x).max())
        self.assertGreaterEqual(len(readings), 32 * 32)
        for reading in readings:
            self.check(reading)
        self.assertEqual({kind[0] for kind in self.seen}, scalings)

    EVERY = {"fp8-per-tensor", "fp8-delayed", "fp8-block", "mxfp8", "nvfp4"}
    NAMES = ",".join(sorted(EVERY))

    def test_every_recipe_with_power_of_two_scales(self):
        self.check_all(self.readings("pow2", "--recipes", self.NAMES, "--pow2_scales", "true"),
                       self.EVERY)
        self.assertEqual({kind[3] for kind in self.seen}, {False, True}, "both directions")
        self.assertIn("E2M1", {kind[1] for kind in self.seen})
        self.assertGreater(self.saturated, 0)
        self.assertGreater(self.zeros, 256)

    def test_every_recipe_with_fp32_scales(self):
        self.check_all(self.readings("fp32", "--recipes", "fp8-per-tensor,fp8-block",
                                     "--pow2_scales", "false", "--sample_row", 32, "--sample_column",
                                     100), {"fp8-per-tensor", "fp8-block"})

    def test_e5m2(self):
        self.check_all(self.readings("e5m2", "--recipes", "fp8-per-tensor,fp8-delayed,fp8-block,mxfp8",
                                     "--activation_format", "E5M2", "--pow2_scales", "false"),
                       self.EVERY - {"nvfp4"})
        self.assertEqual({kind[1] for kind in self.seen}, {"E5M2"})

    def test_hadamard_transformed_codes(self):
        self.hadamard = True
        self.check_all(self.readings("hadamard", "--recipes", "nvfp4,mxfp8"), {"nvfp4", "mxfp8"})
        self.assertEqual(self.undone, 32 * 32, "the columnwise copy of NVFP4 and no other")

    def test_square_blocks_of_activations(self):
        self.square = True
        self.check_all(self.readings("square", "--recipes", "fp8-block,mxfp8,nvfp4",
                                     "--pow2_scales", "false"), {"fp8-block", "mxfp8", "nvfp4"})

    def test_weights(self):
        self.operand, self.hadamard = "weights", True  # which weights never are
        for self.square in (False, True):
            with self.subTest(square=self.square):
                self.worked_out = {}
                self.check_all(self.readings(f"weights{self.square}", "--recipes", self.NAMES,
                                             "--activation_format", "E5M2", "--pow2_scales", "true"),
                               self.EVERY)
                self.assertNotIn("E5M2", {kind[1] for kind in self.seen})
                self.assertEqual(self.undone, 0)

    def test_gradients(self):
        self.operand, self.hadamard = "gradients", True
        self.check_all(self.readings("gradients", "--recipes", self.NAMES, "--activation_format",
                                     "E4M3", "--gradient_format", "E5M2", "--pow2_scales", "true"),
                       self.EVERY)
        self.assertIn("E5M2", {kind[1] for kind in self.seen})
        self.assertEqual(self.undone, 32 * 32)

    def test_bf16_has_no_codes(self):
        self.assertEqual(self.readings("bf16", "--recipes", "bf16"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
