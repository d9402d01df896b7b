"""The update of delayed scaling, several steps in a row."""

import itertools

import numpy as np
import pytest

import formats as f
from cases import check, run

GROUPS = 9


def update(history, scale, reduced, algorithm, margin, format_name, pow2):
    history, scale = history.copy(), scale.copy()
    length = len(history)
    for g in range(history.shape[1]):
        cur = history[0, g]
        if reduced is not None and reduced[g] != 0:
            cur = reduced[g]
        old = history[:, g].copy()
        history[0, g] = 0
        if cur == 0:
            continue
        for row in range(1, length - 1):
            history[row, g] = old[row + 1]
        if length > 1:
            history[length - 1, g] = cur
        amax = max([cur, *old[1:]]) if algorithm == "max" else cur
        if np.isfinite(amax) and amax > 0:
            with np.errstate(over="ignore"):
                quotient = f.F32(f.FP8[format_name][1] * f.F32(2.0**-margin)) / f.F32(amax)
            quotient = min(quotient, f.FLT_MAX)
            if pow2:
                quotient = f.F32(2.0 ** (np.frexp(quotient)[1] - 1))
            scale[g] = quotient
    return history, scale


@pytest.mark.parametrize("length", [1, 2, 5, 1024])
def test_updates(tmp_path, length):
    rng = np.random.default_rng(length)
    variants = list(itertools.product(["max", "recent"], [0, 3, -2], f.FP8, [False, True],
                                      [False, True]))
    if length == 1024:
        variants = variants[::5]
    special = np.array([0, np.inf, 1e-45, 1e-38, 3e38, 448], f.F32)
    states = {v: (rng.exponential(2, (length, GROUPS)).astype(f.F32),
                  np.exp2(rng.integers(-4, 4, GROUPS)).astype(f.F32)) for v in variants}
    for step in range(4):
        cases = []
        for v in variants:
            history, scale = states[v]
            history[0] = rng.exponential(3, GROUPS).astype(f.F32)
            history[0, step:step + 3] = rng.choice(special, 3)
            settings = dict(history=history, scale=scale, algorithm=v[0], margin=v[1],
                            format=v[2], pow2=v[3])
            if v[4]:
                reduced = rng.exponential(5, GROUPS).astype(f.F32)
                reduced[rng.random(GROUPS) < 0.4] = 0
                settings["reduced"] = reduced
            cases.append((None, settings))
        folder = tmp_path / str(step)
        folder.mkdir()
        for v, (_, s), outputs in zip(variants, cases, run(folder, "delayed", cases)):
            history, scale = update(s["history"], s["scale"], s.get("reduced"), *v[:4])
            check(outputs.read("history_after", np.uint32), [history], f"{v} history")
            check(outputs.read("scale_after", np.uint32), [scale], f"{v} scale")
            check(outputs.read("scale_inv", np.uint32), [f.F32(1) / scale], f"{v} inverse")
            states[v] = history, scale


def test_noop(tmp_path):
    history, scale = np.ones((3, 2), f.F32), np.full(2, 7, f.F32)
    (outputs,) = run(tmp_path, "delayed", [
        (None, dict(history=history, scale=scale, algorithm="max", noop=1.0))])
    check(outputs.read("history_after", np.uint32), [history], "history")
    check(outputs.read("scale_after", np.uint32), [scale], "scale")
    check(outputs.read("scale_inv", np.uint32), [], "inverse")
