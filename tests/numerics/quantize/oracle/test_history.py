"""Delayed scaling over many steps: outlier, experts without tokens, the history of amax values."""

import os
import subprocess

import numpy as np
import pytest

import formats as f

DUMP = os.environ.get("SERIES_DUMP", "")
STEPS, EXPERTS, COLUMNS, TOKENS = 12, 3, 48, 96
IDLE = {(0, 2), (5, 1), (6, 1)}

pytestmark = pytest.mark.skipif(not DUMP, reason="SERIES_DUMP names no program")


class Files:
    def __init__(self, folder):
        self.folder = folder

    def read(self, name, dtype=np.float32):
        return np.fromfile(self.folder / name, dtype)


class Expert:
    """One column of the history, as a list of what arrived."""

    def __init__(self, length):
        self.rows = [f.F32(0)] * length
        self.scale = f.F32(1)
        self.made_from = f.F32(0)

    def update(self, algorithm, margin, fmt, pow2):
        newest = self.rows[0]
        if newest == 0:
            return
        amax = max(self.rows) if algorithm == "max" else newest
        if len(self.rows) > 1:
            self.rows = [f.F32(0)] + self.rows[2:] + [newest]
        self.rows[0] = f.F32(0)
        self.scale = wanted(amax, margin, fmt, pow2)
        self.made_from = amax


def wanted(amax, margin, fmt, pow2):
    scale = f.F32(f.FP8[fmt][1] * f.F32(2.0**-margin)) / f.F32(amax)
    return f.F32(2.0 ** (np.frexp(scale)[1] - 1)) if pow2 else scale


@pytest.mark.parametrize("fmt", list(f.FP8))
@pytest.mark.parametrize("algorithm,length,margin,pow2,outlier", [
    ("max", 1024, 0, False, 3), ("max", 4, 0, True, 3), ("recent", 4, 1, False, 3),
    ("max", 2, -1, False, 4), ("max", 1, 0, False, 3), ("recent", 1024, 2, True, -1)])
def test_steps(tmp_path, fmt, algorithm, length, margin, pow2, outlier):
    subprocess.run([DUMP, str(tmp_path), fmt, algorithm, str(length), str(margin),
                    str(int(pow2)), str(outlier)], check=True, timeout=60)
    files = Files(tmp_path)
    x = files.read("x").reshape(STEPS, TOKENS, COLUMNS)
    splits = files.read("splits", np.int64).reshape(STEPS, EXPERTS)
    got = {name: files.read(name).reshape(STEPS, EXPERTS)
           for name in ("amax", "history_amax", "scale_used", "scale_wanted")}
    counts = {name: files.read(name, np.uint64).reshape(STEPS, EXPERTS)
              for name in ("saturated", "underflowed")}
    rows_got = files.read("rows", np.int64).reshape(STEPS, EXPERTS)
    snr = files.read("snr_db", np.float64).reshape(STEPS, EXPERTS)
    kept = min(length, STEPS)
    history = files.read("history").reshape(STEPS, kept, EXPERTS)
    state = [Expert(length) for _ in range(EXPERTS)]
    saturated_with_outlier = 0
    for step in range(STEPS):
        at = 0
        for e in range(EXPERTS):
            rows = 0 if (step, e) in IDLE else int(splits[step, e])
            own = x[step, at:at + rows].copy().reshape(-1)
            at += rows
            if step == outlier and e == 1 and own.size:
                i = int(np.argmax(np.abs(own)))
                own[i] = f.widen(f.narrow(np.array([own[i] * 3000.0]), "bf16"), "bf16")[0]
            state[e].update(algorithm, margin, fmt, pow2)
            scale = state[e].scale
            where = f"step {step}, expert {e}"
            assert rows_got[step, e] == rows, where
            assert got["scale_used"][step, e] == scale, where
            assert got["history_amax"][step, e] == state[e].made_from, where
            amax = np.max(np.abs(own), initial=f.F32(0))
            assert got["amax"][step, e] == amax, where
            state[e].rows[0] = amax
            expected = np.array([state[e].rows[0]] + state[e].rows[length - kept + 1:], f.F32)
            np.testing.assert_array_equal(history[step, :, e], expected, err_msg=where)
            if rows == 0:
                assert np.isnan(got["scale_wanted"][step, e]) and np.isnan(snr[step, e]), where
                assert counts["saturated"][step, e] == counts["underflowed"][step, e] == 0
                continue
            assert got["scale_wanted"][step, e] == wanted(amax, margin, fmt, pow2), where
            codes = f.fp8_codes(own, scale, fmt)
            decoded = f.fp8_values(codes, fmt) * (f.F32(1) / scale)
            over = np.sum(np.abs(own * scale) > f.FP8[fmt][1] * f.F32(1 + 2.0**-22))
            assert counts["saturated"][step, e] == over, where
            assert counts["underflowed"][step, e] == np.sum((codes & 0x7F == 0) & (own != 0)), where
            error = np.sum((own.astype(float) - decoded.astype(float))**2)
            assert snr[step, e] == pytest.approx(
                10 * np.log10(np.sum(own.astype(float)**2) / error), abs=1e-9), where
            saturated_with_outlier += int(over) if (step, e) == (outlier, 1) else 0
    if outlier >= 0:
        assert saturated_with_outlier > 0, "the outlier had a stale scale but did not saturate"
