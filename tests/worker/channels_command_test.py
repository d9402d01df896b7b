"""The worst rows and columns that `expertscope quantize` and `compare` print, against numpy.

Usage: channels_command_test.py EXPERTSCOPE   (the worker is next to it)
"""

import json
import unittest

import ml_dtypes
import numpy as np

from command_line import CPU, CommandLine


class Channels(CommandLine):
    splits = [3, 0, 129, 60]

    def test_the_worst_rows_and_columns_are_printed(self):
        x = np.random.default_rng(7).standard_normal((sum(self.splits), 320)).astype(np.float32)
        x[:, 5] *= 100
        x[1, :128] = 0
        np.save(self.path("x.npy"), x)
        with open(self.path("s.json"), "w") as file:
            json.dump(self.splits, file)
        splits = ["--splits", self.path("s.json")]
        chosen = ["--recipe", "fp8-per-tensor", "--pow2_scales", "false"]
        base = ["quantize", *CPU, "--input", self.path("x.npy"), *splits, *chosen]
        self.ok(*base, "--dump", self.path("out"))
        codes = np.load(self.path("out/codes.npy")).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        decoded = codes * np.repeat(np.load(self.path("out/scale_inv.npy")).ravel(), self.splits)[:, None]
        noise = (x - decoded).astype(np.float64) ** 2
        report = json.loads(self.ok(*base, "--direction", "rowwise", "--json"))["reports"][0]
        text = self.ok(*base)
        self.assertIn("The 3 columns and the 3 rows with most of the noise:", text)
        for axis, name in ((0, "column"), (1, "row")):
            channels = report["statistics"]["channels"][f"{name}s"]
            self.assertEqual(channels["channels"], x.shape[1 - axis])
            share = noise.sum(axis=axis) / noise.sum()
            worst = np.argsort(-share, kind="stable")[:3]
            amax = np.abs(x).max(axis=axis)
            place = np.abs(x).argmax(axis=axis)
            underflowed = ((x != 0) & (decoded == 0)).sum(axis=axis)
            for one, index in zip(channels["noisiest"], worst):
                self.assertEqual((one["index"], one["place"]), (index, place[index]))
                self.assertAlmostEqual(one["amax"], float(amax[index]), places=4)
                self.assertAlmostEqual(one["noise_share"], share[index], places=6)
                self.assertEqual((one["underflowed"], one["lost"]), (underflowed[index], 0))
            self.assertEqual(channels["largest"][0]["index"], amax.argmax())
            for direction in ("rowwise", "columnwise"):
                self.assertRegex(text, rf"{direction} +{name} +{worst[0]} ")
        compared = json.loads(self.ok("compare", *CPU, "--input", self.path("x.npy"), *splits, "--recipes",
                                      "fp8-per-tensor", "--pow2_scales", "false", "--timed-launches", 0, "--json"))
        self.assertEqual(compared["reports"][0]["statistics"]["channels"], report["statistics"]["channels"])

    def test_saturated_elements_are_counted_by_row_and_column(self):
        """The FP8 scale of a block of NVFP4 may be rounded down: its largest elements are then cut."""
        x = np.ones((64, 128), np.float32)
        x[:, ::16] = np.random.default_rng(3).uniform(50, 100, (64, 8))
        np.save(self.path("x.npy"), x)
        report = json.loads(self.ok("quantize", *CPU, self.path("x.npy"), "--recipe", "nvfp4", "--direction", "rowwise",
                                    "--json"))["reports"][0]["statistics"]
        self.assertGreater(report["saturated"], 0)
        columns = np.asarray(report["channels"]["columns"]["saturated_share"]) * 64
        rows = np.asarray(report["channels"]["rows"]["saturated_share"]) * 128
        self.assertEqual(round(rows.sum()), report["saturated"])
        self.assertEqual(round(columns.sum()), report["saturated"])
        self.assertEqual(np.delete(columns, np.s_[::16]).max(), 0, "these have no large elements")
        for one in report["channels"]["columns"]["largest"]:
            self.assertEqual(one["saturated"], round(columns[one["index"]]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
