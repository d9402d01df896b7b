"""Grouped operands, and the program under test, which QUANTIZE_DUMP names: many cases per call."""

import os
import subprocess

import ml_dtypes
import numpy as np

from activations import applied
from formats import F32, INPUTS, narrow, widen
from layouts import cdiv

DUMP = os.environ["QUANTIZE_DUMP"]
BYTE_SENTINEL = np.uint8(0xA5)
FLOAT_SENTINEL = np.uint32(0xFFC0DEAD)


def wild_values(rng, rows, columns):
    """Mostly values around 1, with zero, tiny and huge stretches, inf and NaN."""
    values = rng.standard_normal((rows, columns)).astype(F32)
    values *= np.exp2(rng.integers(-12, 8, size=(rows, 1))).astype(F32)
    values[rng.random((rows, columns)) < 0.003] = np.nan
    values[rng.random((rows, columns)) < 0.0003] = -np.inf
    for _ in range(max(rows // 3, 1)):
        if rows == 0:
            break
        row = int(rng.integers(rows))
        start = int(rng.integers(0, columns, endpoint=True)) // 16 * 16
        height = int(rng.integers(1, 40))
        values[row:row + height, start:start + 128] = rng.choice(
            np.array([0, -0.0, 1e-38, 2e-40, 6e-8, 6e4, 3e38, 448, 449], F32))
    return values


class Operand:
    """Splits, columns, a type; the tail rows hold the type's largest finite value. With an
    activation `columns` are those of its output."""

    def __init__(self, splits, columns, type_name="bf16", spare=7, padding=None, activation=None,
                 seed=0, mild=False):
        self.type, self.activation = type_name, activation
        parts = activation.parts if activation else 1
        gradient = activation is not None and activation.gradient
        self.columns = columns * (parts if gradient else 1)
        self.offsets = np.concatenate([[0], np.cumsum(splits)]).astype(np.int64)
        rows, width = int(self.offsets[-1]), columns * parts
        self.capacity = rows + spare
        rng = np.random.default_rng([seed, len(splits), columns])
        values = rng.standard_normal((rows, width)).astype(F32) if mild else wild_values(
            rng, rows, width)
        poison = np.full((spare, width), INPUTS[type_name][2], F32)
        self.bits = narrow(np.concatenate([values, poison]), type_name)
        self.padding = padding
        if padding is None:
            self.output_offsets, self.output_capacity = self.offsets, self.capacity
        else:
            rounded = [cdiv(int(s), padding) * padding for s in splits]
            self.output_offsets = np.concatenate([[0], np.cumsum(rounded)]).astype(np.int64)
            self.output_capacity = int(self.output_offsets[-1]) + spare
        values = widen(self.bits[:rows], type_name)
        self.gradient_bits = None
        dy = None
        if gradient:
            fill = rng.standard_normal((self.capacity, columns)).astype(F32)
            fill[rows:] = INPUTS[type_name][2]
            self.gradient_bits = narrow(fill, type_name)
            dy = widen(self.gradient_bits[:rows], type_name)
        if activation:
            up = values[:, columns:] if activation.gated else None
            values = widen(narrow(applied(activation, values[:, :columns], up, dy).astype(F32),
                                  type_name), type_name)
        self.values = values  # what is quantized

    @property
    def groups(self):
        return len(self.offsets) - 1

    def group(self, index, pad=True):
        begin, end = self.offsets[index:index + 2]
        own = self.values[begin:end]
        rows = int(self.output_offsets[index + 1] - self.output_offsets[index])
        return np.pad(own, ((0, rows - len(own)), (0, 0))) if pad else own

    def words(self, prefix):
        self.bits.tofile(prefix + ".input")
        self.offsets.tofile(prefix + ".offsets")
        words = {"type": self.type, "columns": self.columns, "input": prefix + ".input",
                 "offsets": prefix + ".offsets"}
        if self.activation is not None:
            a = self.activation
            words |= {"function": a.function, "gated": int(a.gated),
                      "slope": float(F32(a.slope)).hex(), "limit": a.limit,
                      "up_offset": a.up_offset}
        if self.gradient_bits is not None:
            self.gradient_bits.tofile(prefix + ".gradient_of_y")
            words["gradient_of_y"] = prefix + ".gradient_of_y"
        if self.padding is not None:
            self.output_offsets.tofile(prefix + ".output_offsets")
            words |= {"output_offsets": prefix + ".output_offsets",
                      "output_capacity": self.output_capacity}
        return words


class Outputs:
    def __init__(self, prefix):
        self.prefix = prefix

    def read(self, name, dtype=np.uint8):
        return np.fromfile(f"{self.prefix}.{name}", dtype)


def run(folder, recipe, cases):
    """cases: (operand or None, settings); an array among the settings becomes a file."""
    lines = []
    for index, (operand, settings) in enumerate(cases):
        prefix = str(folder / f"case{index}")
        words = {"recipe": recipe, "prefix": prefix}
        if operand is not None:
            words |= operand.words(prefix)
        for key, value in settings.items():
            if isinstance(value, np.ndarray):
                value.tofile(f"{prefix}.{key}.in")
                value = f"{prefix}.{key}.in"
            elif isinstance(value, bool):
                value = int(value)
            elif isinstance(value, (float, np.floating)):
                value = float(value).hex()
            words[key] = value
        lines.append(" ".join(f"{key}={value}" for key, value in words.items()))
    (folder / "cases").write_text("\n".join(lines) + "\n")
    subprocess.run([DUMP, f"cases={folder / 'cases'}"], check=True, timeout=120)
    return [Outputs(str(folder / f"case{index}")) for index in range(len(cases))]


def check(got, want_parts, name, starts=None):
    """want_parts are consecutive (or at `starts`); everything else must hold the sentinel."""
    sentinel = BYTE_SENTINEL if got.dtype == np.uint8 else FLOAT_SENTINEL
    want = np.full(got.shape, sentinel, got.dtype)
    at = 0
    for index, part in enumerate(want_parts):
        part = np.asarray(part).reshape(-1)
        part = part.view(np.uint32) if part.dtype == F32 else part
        at = int(starts[index]) if starts is not None else at
        assert at + part.size <= want.size, f"{name}: capacity {want.size} is too small"
        want[at:at + part.size] = part
        at += part.size
    np.testing.assert_array_equal(got, want, err_msg=name)


def untouched(got, name):
    check(got, [], name)


def same_floats(got, want, name):
    """Equal bits; any NaN equals any other."""
    got, want = got.view(F32), np.asarray(want, F32).reshape(-1)
    nan = np.isnan(want)
    np.testing.assert_array_equal(np.isnan(got), nan, err_msg=name)
    np.testing.assert_array_equal(got.view(np.uint32)[~nan], want.view(np.uint32)[~nan],
                                  err_msg=name)


def bias_partials(operand):
    """FP32 partials in the contract's order: segments of 16 rows, then a tree of eight."""
    parts = []
    for g in range(operand.groups):
        own = operand.group(g, pad=False)
        strips = cdiv(len(own), 128)
        rows = np.pad(own, ((0, strips * 128 - len(own)), (0, 0)))
        rows = rows.reshape(strips, 8, 16, operand.columns)
        sums = np.zeros((strips, 8, operand.columns), F32)
        with np.errstate(all="ignore"):
            for row in range(16):
                sums = sums + rows[:, :, row]
            s = [sums[:, i] for i in range(8)]
            parts.append(((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7])))
    return parts


def check_partials(outputs, operand, name):
    got = outputs.read("partials", np.uint32)
    want = np.concatenate([part.reshape(-1) for part in bias_partials(operand)])
    same_floats(got[:want.size], want, f"{name} partials")
    untouched(got[want.size:], f"{name} partials")


SHAPES = {
    "k144": dict(splits=[5, 0, 131, 1], columns=144),
    "k2880": dict(splits=[0, 12, 0, 35], columns=2880),
    "k16": dict(splits=[130, 3], columns=16),
    "groups65": dict(splits=[g % 4 for g in range(65)], columns=272),
    "groups1024": dict(splits=[g % 3 for g in range(1024)], columns=16, spare=40),
    "empty": dict(splits=[0, 0], columns=128),
    "one_hot": dict(splits=[0, 0, 257, 0], columns=384, spare=257),
    "pad16": dict(splits=[5, 0, 131, 1, 16], columns=144, padding=16),
    "pad128": dict(splits=[5, 0, 131, 1, 128], columns=272, padding=128),
}
