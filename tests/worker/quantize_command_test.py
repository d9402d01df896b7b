"""`expertscope quantize` and `compare` as a user calls them, files checked with numpy alone.

Usage: quantize_command_test.py EXPERTSCOPE   (the worker is next to it)
"""

import json
import os
import struct
import shutil
import unittest

import ml_dtypes
import numpy as np

from command_line import CPU, CommandLine, grouped


class Quantize(CommandLine):
    splits = [3, 0, 129, 60]

    def dump(self, x, *arguments):
        np.save(self.path("x.npy"), x)
        shutil.rmtree(self.path("out"), ignore_errors=True)
        self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--dump", self.path("out"), *arguments)
        names = ("codes", "scale_inv", "amax", "splits")
        with open(self.path("out/manifest.json")) as file:
            manifest = json.load(file)
        files = {name: np.load(self.path(f"out/{name}.npy")) for name in names}
        for name, array in files.items():
            self.assertEqual(manifest["files"][f"{name}.npy"]["shape"], list(array.shape))
            self.assertEqual(manifest["files"][f"{name}.npy"]["dtype"], str(array.dtype))
        return {**files, "manifest": manifest}

    def x(self, columns=320):
        generator = np.random.default_rng(7)
        x = generator.standard_normal((sum(self.splits), columns)).astype(np.float32)
        x[:, 5] *= 100
        x[1, :128] = 0
        return x

    def write_splits(self):
        with open(self.path("s.json"), "w") as file:
            json.dump(self.splits, file)
        return ["--splits", self.path("s.json")]

    @staticmethod
    def scale(amax, largest, pow2, epsilon):
        amax = np.maximum(amax, np.float32(epsilon)).astype(np.float32)
        with np.errstate(divide="ignore"):
            scale = np.where(amax > 0, np.float32(largest) / amax, np.float32(1)).astype(np.float32)
        return (scale.view(np.uint32) & np.uint32(0xFF800000)).view(np.float32) if pow2 else scale

    @staticmethod
    def cast(x, kind, largest):
        return np.clip(x, -largest, largest).astype(kind).view(np.uint8)

    def test_a_file_needs_no_option(self):
        np.save(self.path("x.npy"), np.ones((32, 128), np.float32))
        for command in (["quantize", *CPU], ["compare", *CPU, "--recipes", "mxfp8", "--timed-launches", 0]):
            self.assertEqual(*(json.loads(self.ok(*command, *file, "--json"))["request"]
                               for file in ([self.path("x.npy")], ["--input", self.path("x.npy")])))

    def test_blocks_of_activations(self):
        x = self.x()
        for name, kind, largest, pow2, epsilon in (
                ("e4m3", ml_dtypes.float8_e4m3fn, 448.0, False, 0.0),
                ("e5m2", ml_dtypes.float8_e5m2, 57344.0, True, 0.5)):
            got = self.dump(x, *self.write_splits(), "--activation_format", name,
                            "--amax_epsilon", epsilon, "--pow2_scales", str(pow2).lower())
            blocks = -(-x.shape[1] // 128)
            padded = np.zeros((x.shape[0], blocks * 128), np.float32)
            padded[:, :x.shape[1]] = x
            amax = np.abs(padded).reshape(x.shape[0], blocks, 128).max(axis=2)
            scale = self.scale(amax, largest, pow2, epsilon)
            np.testing.assert_array_equal(got["splits"], self.splits)
            np.testing.assert_array_equal(got["amax"], amax)
            np.testing.assert_array_equal(got["scale_inv"], np.float32(1) / scale)
            expected = self.cast(x * np.repeat(scale, 128, axis=1)[:, :x.shape[1]], kind, largest)
            np.testing.assert_array_equal(got["codes"], expected)

    @staticmethod
    def typical_db(x, decoded):
        """Median over blocks of 16 neighbours in a row."""
        errors = []
        for begin in range(0, x.shape[1], 16):
            part = x[:, begin:begin + 16].astype(np.float64)
            noise = ((part - decoded[:, begin:begin + 16]) ** 2).sum(axis=1)
            signal = (part ** 2).sum(axis=1)
            kept = signal > 0
            with np.errstate(divide="ignore"):
                errors.append(10 * np.log10(signal[kept] / noise[kept]))
        return np.median(np.concatenate(errors))

    def test_the_typical_error_is_not_decided_by_outlier_channels(self):
        x = self.x()
        x[:, 8:16] *= 100_000  # so that all other elements are lost in the scale of the tensor
        shown = {}
        for recipe in ("fp8-block", "fp8-per-tensor"):
            got = self.dump(x, *self.write_splits(), "--recipe", recipe, "--pow2_scales", "false")
            codes = got["codes"].view(ml_dtypes.float8_e4m3fn).astype(np.float64)
            if recipe == "fp8-block":
                inverse = np.repeat(got["scale_inv"], 128, axis=1)[:, :x.shape[1]]
            else:
                inverse = np.repeat(got["scale_inv"].ravel(), self.splits)[:, None]
            decoded = (codes * inverse.astype(np.float64)).astype(np.float32)
            out = json.loads(self.ok(
                "compare", *CPU, "--json", "--recipes", recipe, "--timed_launches", 0,
                "--num_experts", 4, "--tokens", sum(self.splits), "--n", 64, "--k", x.shape[1],
                "--activations.file.path", self.path("x.npy"), "--routing.distribution", "file",
                "--routing.path", self.path("s.json"), "--pow2_scales", "false"))
            report = next(r for r in out["reports"] if not r["columnwise"])
            shown[recipe] = report
            run = json.loads(self.ok(
                "run", *CPU, "--json", "--recipe", recipe, "--iterations", 1,
                "--num_experts", 4, "--tokens", sum(self.splits), "--n", 64, "--k", x.shape[1],
                "--activations.file.path", self.path("x.npy"), "--routing.distribution", "file",
                "--routing.path", self.path("s.json"), "--pow2_scales", "false"))
            # The run on the Numerics page says the same as the comparison of recipes.
            self.assertAlmostEqual(run["result"]["tensors"][0]["quantization"]["median_block_snr_db"],
                                   report["statistics"]["median_block_snr_db"], delta=1e-9)
            self.assertAlmostEqual(report["statistics"]["median_block_snr_db"], self.typical_db(x, decoded),
                                   delta=1e-3, msg=recipe)
        # The SNR reads alike; the typical element does not.
        snr = [report["statistics"]["snr_db"] for report in shown.values()]
        typical = [report["statistics"]["median_block_snr_db"] for report in shown.values()]
        self.assertLess(abs(snr[0] - snr[1]), 3)
        self.assertGreater(typical[0] - typical[1], 6)

    def test_per_tensor(self):
        x = self.x()
        got = self.dump(x, *self.write_splits(), "--recipe", "fp8-per-tensor", "--pow2_scales",
                        "false")
        offsets = np.concatenate([[0], np.cumsum(self.splits)])
        for e, rows in enumerate(self.splits):
            part = x[offsets[e]:offsets[e + 1]]
            amax = np.abs(part).max() if rows else np.float32(0)
            scale = self.scale(np.array([amax]), 448.0, False, 0.0)[0]
            self.assertEqual(got["amax"][e], amax)
            self.assertEqual(got["scale_inv"][e], np.float32(1) / scale)
            np.testing.assert_array_equal(got["codes"][offsets[e]:offsets[e + 1]],
                                          self.cast(part * scale, ml_dtypes.float8_e4m3fn, 448.0))

    def test_blocks_of_weights(self):
        generator = np.random.default_rng(3)
        w = generator.standard_normal((2, 144, 272)).astype(np.float32)
        got = self.dump(w, "--operand", "weights", "--pow2_scales", "false")
        self.assertEqual(got["scale_inv"].shape, (2 * 2, 3))
        np.testing.assert_array_equal(got["splits"], [144, 144])
        for e in range(2):
            for by in range(2):
                for bx in range(3):
                    block = w[e, by * 128:(by + 1) * 128, bx * 128:(bx + 1) * 128]
                    amax = np.abs(block).max()
                    scale = self.scale(np.array([amax]), 448.0, False, 0.0)[0]
                    self.assertEqual(got["amax"][e * 2 + by, bx], amax)
                    codes = got["codes"].reshape(2, 144, 272)[e, by * 128:(by + 1) * 128,
                                                             bx * 128:(bx + 1) * 128]
                    np.testing.assert_array_equal(
                        codes, self.cast(block * scale, ml_dtypes.float8_e4m3fn, 448.0))

    def test_every_operand_is_named_as_what_it_is(self):
        x = self.x()
        for operand, field in (("activations", "activation_format"), ("gradients", "gradient_format")):
            got = self.dump(x, *self.write_splits(), "--operand", operand, f"--{field}", "e5m2")
            self.assertEqual(got["manifest"]["operand"], operand)
            self.assertEqual(got["manifest"]["rowwise"]["format"], "e5m2")
            self.assertEqual(got["manifest"]["shape"], list(x.shape))
        got = self.dump(x[None], "--operand", "weights")
        self.assertIn("Wasted: a square block of 128x128 keeps one scale and counts once",
                      self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--operand", "weights"))
        self.assertEqual(got["manifest"]["operand"], "weights")

    def test_only_a_line_can_repeat_the_scale_of_its_square(self):
        np.save(self.path("x.npy"), self.x()[None])
        for recipe, repeats in (("fp8-block", False), ("mxfp8", True), ("nvfp4", True)):
            folder = self.path(recipe)
            self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--operand", "weights", "--recipe", recipe,
                    "--square_weight_blocks", "true", "--dump", folder)
            with open(f"{folder}/manifest.json") as file:
                layout = json.load(file)["rowwise"]["scale_layout"]
            self.assertEqual("equal inside a square" in layout, repeats, layout)

    def test_mxfp8_and_nvfp4_decode_as_the_manifest_says(self):
        x = self.x()
        np.save(self.path("x.npy"), x)
        offsets = np.concatenate([[0], np.cumsum(self.splits)])
        for recipe in ("mxfp8", "nvfp4"):
            folder = self.path(recipe)
            self.ok("quantize", *CPU, "--input", self.path("x.npy"), *self.write_splits(), "--recipe",
                    recipe, "--direction", "both", "--dump", folder)
            codes = np.load(f"{folder}/codes.npy")
            scales = np.load(f"{folder}/scales.npy")
            if recipe == "mxfp8":
                value = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float64)
                factor = np.repeat(np.exp2(scales.astype(np.float64) - 127), 32, axis=1)
            else:
                grid = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
                grid = np.concatenate([grid, -grid])
                value = np.stack([grid[codes & 15], grid[codes >> 4]], axis=2).reshape(x.shape)
                amax = np.load(f"{folder}/amax.npy").astype(np.float64)
                rows = np.repeat(amax, np.diff(offsets))[:, None]
                factor = np.repeat(scales.view(ml_dtypes.float8_e4m3fn).astype(np.float64) * rows / 2688,
                                   16, axis=1)
            decoded = value * factor[:, :x.shape[1]]
            snr = 10 * np.log10((x ** 2).sum() / ((x - decoded) ** 2).sum())
            self.assertGreater(snr, 25 if recipe == "mxfp8" else 15)
            self.assertTrue(os.path.exists(f"{folder}/codes_columnwise.npy"))

    def test_fp8_scales_widened_to_mxfp8_decode_the_same_codes(self):
        x = self.x()
        np.save(self.path("x.npy"), x)
        offsets = np.concatenate([[0], np.cumsum(self.splits)])
        for recipe in ("fp8-block", "fp8-per-tensor"):
            folder = self.path(recipe)
            self.ok("quantize", *CPU, "--input", self.path("x.npy"), *self.write_splits(), "--recipe",
                    recipe, "--pow2_scales", "true", "--direction", "both", "--dump", folder)
            load = {name: np.load(f"{folder}/{name}.npy") for name in (
                "codes", "scale_inv", "mxfp8_scales", "codes_columnwise", "scale_inv_columnwise",
                "mxfp8_scales_columnwise")}
            if recipe == "fp8-block":
                wanted = np.repeat(load["scale_inv"], 128, axis=1)[:, :x.shape[1]]
            else:
                wanted = np.broadcast_to(np.repeat(load["scale_inv"], self.splits)[:, None], x.shape)
            got = np.repeat(np.exp2(load["mxfp8_scales"].astype(np.float64) - 127), 32, axis=1)[:, :x.shape[1]]
            np.testing.assert_array_equal(got, wanted)
            # Columnwise, 32 rows of an expert share a scale.
            strip = block = 0
            for e, rows in enumerate(self.splits):
                blocks, strips = -(-rows // 32), -(-rows // 128)
                bytes_ = load["mxfp8_scales_columnwise"][block:block + blocks].astype(np.float64)
                if recipe == "fp8-block":
                    of_strips = load["scale_inv_columnwise"][strip:strip + strips]
                    wanted = np.repeat(of_strips, 4, axis=0)[:blocks]
                else:
                    wanted = np.full(bytes_.shape, load["scale_inv_columnwise"][e])
                np.testing.assert_array_equal(np.exp2(bytes_ - 127), wanted)
                block, strip = block + blocks, strip + strips
            self.assertEqual(block, len(load["mxfp8_scales_columnwise"]))
            with open(f"{folder}/manifest.json") as file:
                manifest = json.load(file)
            self.assertEqual(manifest["rowwise"]["mxfp8_scales"]["file"], "mxfp8_scales.npy")
            self.assertEqual(manifest["files"]["mxfp8_scales.npy"]["shape"], [offsets[-1], 10])

    def test_a_scale_that_mxfp8_cannot_hold_is_named(self):
        x = np.full((sum(self.splits), 320), 448, np.float32)  # scale 1
        x[132, 128:256] = 3  # the first row of expert 3
        np.save(self.path("x.npy"), x)
        folder = self.path("out")
        self.ok("quantize", *CPU, "--input", self.path("x.npy"), *self.write_splits(), "--pow2_scales",
                "false", "--dump", folder)
        with open(f"{folder}/manifest.json") as file:
            refused = json.load(file)["rowwise"]["mxfp8_scales"]["refused"]
        scale_inv = np.float32(1) / (np.float32(448) / np.float32(3))
        self.assertIn(f"scale_inv {str(scale_inv)} of expert 3, row 0, column 128 is not a power of two", refused)
        self.assertIn("4 blocks of 32", refused)
        self.assertIn("--pow2_scales true", refused)
        self.assertFalse(os.path.exists(f"{folder}/mxfp8_scales.npy"))
        for recipe in ("mxfp8", "nvfp4"):  # their scales are bytes already
            self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--recipe", recipe, "--dump", self.path(recipe))
            with open(f"{self.path(recipe)}/manifest.json") as file:
                self.assertNotIn("mxfp8_scales", json.load(file)["rowwise"])

    def test_dumps_do_not_mix(self):
        self.dump(self.x(), *self.write_splits())
        before = sorted(os.listdir(self.path("out")))
        said = self.refused(1, "quantize", *CPU, "--input", self.path("x.npy"), *self.write_splits(),
                            "--recipe", "mxfp8", "--direction", "both", "--dump", self.path("out"))
        self.assertIn("out holds files already; choose another folder", said)
        self.assertEqual(sorted(os.listdir(self.path("out"))), before)
        self.refused(1, "quantize", *CPU, "--input", "/nowhere", "--dump", self.path("new"))
        self.assertFalse(os.path.exists(self.path("new")), "a refused order left a folder")

    def test_the_loss_is_printed_and_in_the_manifest(self):
        x = self.x()
        x[3, 7] = np.inf  # its block, and with one scale per expert its expert, is lost
        np.save(self.path("x.npy"), x)
        for recipe, rows, columns in (("fp8-block", slice(3, 4), slice(0, 128)),
                                      ("fp8-per-tensor", slice(0, self.splits[0]), slice(None))):
            out = self.path(f"out-{recipe}")
            text = self.ok("quantize", *CPU, "--input", self.path("x.npy"), *self.write_splits(), "--recipe", recipe,
                           "--pow2_scales", "false", "--dump", out)
            load = {name: np.load(f"{out}/{name}.npy") for name in ("codes", "scale_inv")}
            codes = load["codes"].view(ml_dtypes.float8_e4m3fn).astype(np.float64)
            if recipe == "fp8-block":
                scales = np.repeat(load["scale_inv"], 128, axis=1)[:, :x.shape[1]].astype(np.float64)
            else:
                scales = np.repeat(load["scale_inv"], self.splits)[:, None].astype(np.float64)
            with np.errstate(invalid="ignore"):
                decoded = codes * scales
            finite = np.isfinite(x) & np.isfinite(decoded)
            wanted = {"elements": x.size, "lost": int(np.sum(np.isfinite(x) & ~np.isfinite(decoded))),
                      "underflowed": int(np.sum((x != 0) & np.isfinite(x) & (decoded == 0)))}
            with open(f"{out}/manifest.json") as file:
                loss = json.load(file)["rowwise"]["loss"]
            self.assertEqual({name: loss[name] for name in wanted}, wanted)
            noise = np.sum((x[finite] - decoded[finite]) ** 2)
            snr = 10 * np.log10(np.sum(x[finite].astype(np.float64) ** 2) / noise)
            self.assertAlmostEqual(loss["snr_db"], snr, places=5)
            self.assertIn(f"{wanted['lost']} lost", text)
            self.assertIn(f"SNR {snr:.2f} dB", text)

    def test_without_a_folder_the_figures_are_printed(self):
        x = self.x()
        np.save(self.path("x.npy"), x)
        base = ["quantize", *CPU, "--input", self.path("x.npy"), *self.write_splits()]
        text = self.ok(*base)
        amax = float(np.abs(x).max())
        row, column = np.unravel_index(np.abs(x).argmax(), x.shape)
        self.assertRegex(text, rf"amax +{amax:.4g}, in column {column} of row {row}\n")
        for word in ("SNR", "saturated", "underflow", "FP8 block", "MXFP8", "NVFP4", "rowwise", "columnwise",
                     "Of NVFP4 columnwise they are counted after its Hadamard transform is undone"):
            self.assertIn(word, text)
        self.assertEqual(os.listdir(os.path.dirname(self.path("x"))).count("out"), 0)
        chosen = json.loads(self.ok(*base, "--recipe", "mxfp8", "--direction", "rowwise", "--json"))
        self.assertEqual([(r["recipe"]["scaling"], r["columnwise"]) for r in chosen["reports"]], [("mxfp8", False)])
        self.assertAlmostEqual(chosen["amax"], amax, places=4)
        self.assertEqual((chosen["amax_row"], chosen["amax_column"]), (row, column))
        text = self.ok(*base, "--recipe", "nvfp4", "--direction", "both", "--dump", self.path("out"))
        self.assertIn("Of NVFP4 columnwise they are counted after", text)
        self.assertNotIn("Hadamard", self.ok(*base, "--recipe", "nvfp4", "--dump", self.path("rowwise")))

    def test_a_size_that_does_not_fit_is_named_as_it_was_given(self):
        np.save(self.path("x.npy"), np.zeros((64, 100), np.float32))
        for command in (["quantize"], ["quantize", "--dump", self.path("out")], ["compare"]):
            said = self.refused(1, command[0], *CPU, "--input", self.path("x.npy"), *command[1:])
            self.assertIn(f"the last dimension of {self.path('x.npy')} is 100; it must be a multiple of 16", said)
            self.assertNotIn("shape.k", said)
            # A file cannot use another size.
            self.assertIn("at a time): pad the tensor with zeros, or cut it, and save it again", said)
            self.assertNotIn("use 112", said)
        self.assertIn("use 112", self.refused(1, "compare", *CPU, "--k", 100))

    def test_a_tensor_of_three_dimensions_is_told_that_two_are_needed(self):
        np.save(self.path("x3.npy"), np.zeros((4, 64, 512), np.float32))
        for command in (["quantize"], ["compare"], ["run", "--activations.file.path"]):
            self.assertIn("is [4, 64, 512] but activations need two dimensions",
                          self.refused(1, command[0], *CPU, *command[1:], self.path("x3.npy")))

    def test_an_option_that_was_not_typed_is_not_named(self):
        for command in ("quantize", "compare"):
            said = self.refused(1, command, *CPU, self.path("absent.npy"))
            self.assertNotIn("--input", said)
            self.assertIn("absent.npy cannot be opened", said)

    def test_a_size_that_is_not_the_files_is_refused(self):
        np.save(self.path("x.npy"), self.x())
        rows, columns = self.x().shape
        for command in ("quantize", "compare"):
            base = [command, *CPU, "--input", self.path("x.npy")]
            said = self.refused(1, *base, "--rows", 100)
            self.assertIn(f"--rows is 100, but the first dimension of {self.path('x.npy')} is {rows}; leave", said)
            self.assertIn(f"--k is 64, but the last dimension of {self.path('x.npy')} is {columns}; leave",
                          self.refused(1, *base, "--k", 64))
        self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--rows", rows, "--k", columns)

    def test_scales_per_tensor_are_exact_unless_asked_otherwise(self):
        np.save(self.path("x.npy"), self.x())
        for name, arguments, pow2 in (("default", [], False), ("asked", ["--pow2_scales", "true"], True)):
            out = self.path(name)
            self.ok("quantize", *CPU, "--input", self.path("x.npy"), "--recipe", "fp8-per-tensor", *arguments,
                    "--dump", out)
            with open(f"{out}/manifest.json") as file:
                self.assertIs(json.load(file)["request"]["recipe"]["pow2_scales"], pow2)

    def test_a_tensor_that_does_not_fit_is_refused_before_it_is_read(self):
        rows, columns = 1 << 22, 1 << 14
        np.lib.format.open_memmap(self.path("huge.npy"), "w+", np.float32, (rows, columns))  # a sparse file
        said = self.refused(2, "quantize", *CPU, "--input", self.path("huge.npy"), "--dump", self.path("out"))
        self.assertIn(f"{rows * columns * 15.5 / 2**30:.1f} GiB", said)
        self.assertIn("GiB of memory are available", said)
        self.assertFalse(os.path.exists(self.path("out")))

    def test_the_only_tensor_of_a_file_needs_no_name(self):
        x = self.x()
        np.savez(self.path("x.npz"), x=x)
        header = json.dumps({"x": {"dtype": "F32", "shape": x.shape, "data_offsets": [0, x.nbytes]}}).encode()
        with open(self.path("x.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + x.tobytes())
        for name in ("x.npz", "x.safetensors"):
            out = self.path(name + ".out")
            self.ok("quantize", *CPU, "--input", self.path(name), "--dump", out)
            named = self.path(name + ".named")
            self.ok("quantize", *CPU, "--input", self.path(name), "--tensor", "x", "--dump", named)
            np.testing.assert_array_equal(np.load(f"{out}/codes.npy"), np.load(f"{named}/codes.npy"))
            self.assertIn(f"{grouped(x.size)} elements", self.ok("quantize", *CPU, "--input", self.path(name)))
            self.ok("compare", *CPU, "--input", self.path(name), "--timed-launches", 0, "--recipes", "mxfp8")
            self.assertIn("has no tensor 'y'; it has x",
                          self.refused(1, "quantize", *CPU, "--input", self.path(name), "--tensor", "y"))

    def test_a_recipe_that_quantizes_nothing_is_refused(self):
        np.save(self.path("x.npy"), self.x())
        base = ["quantize", *CPU, "--input", self.path("x.npy"), "--recipe", "bf16"]
        for more in ([], ["--json"], ["--direction", "columnwise"], ["--dump", self.path("out")]):
            self.assertIn("BF16 quantizes nothing", self.refused(1, *base, *more))
        text = self.ok("compare", *CPU, "--input", self.path("x.npy"), "--recipes", "bf16,mxfp8",
                       "--timed-launches", 0)
        self.assertIn(f"{grouped(self.x().size)} elements", text)

    def test_elements_that_are_not_finite_are_named(self):
        x = self.x()
        np.save(self.path("x.npy"), x)
        base = ["quantize", *CPU, "--input", self.path("x.npy")]
        self.assertNotRegex(self.ok(*base), "NaN|amax, finite|Wasted: a square")
        self.assertIs(json.loads(self.ok(*base, "--json"))["amax_of_finite_only"], False)
        x[2, :127], x[3, 0] = np.nan, -np.inf
        np.save(self.path("x.npy"), x)
        text = self.ok(*base)
        self.assertIn("128 of these elements are NaN or infinite before quantization", text)
        self.assertRegex(text, r"amax, finite +\d")
        self.assertIn("makes the amax of its block infinite", " ".join(text.split()))
        self.assertIs(json.loads(self.ok(*base, "--json"))["amax_of_finite_only"], True)
        self.assertIn(", 128 NaN or infinite before quantization",
                      self.ok(*base, "--dump", self.path("out")))

    def test_a_dump_names_its_recipe(self):
        np.save(self.path("x.npy"), self.x())
        base = ["quantize", *CPU, "--input", self.path("x.npy"), "--dump"]
        self.assertRegex(self.ok(*base, self.path("default")), r"recipe +FP8 block, power-of-two scales\n")
        self.assertRegex(self.ok(*base, self.path("chosen"), "--recipe", "mxfp8"), r"recipe +MXFP8")

    def test_a_wrong_tensor_name_lists_the_names(self):
        header = {f"layers.{i}.x": {"dtype": "F32", "shape": [16, 16], "data_offsets": [1024 * i, 1024 * (i + 1)]}
                  for i in range(25)}
        text = json.dumps(header).encode()
        with open(self.path("x.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + bytes(25 * 1024))
        base = ["quantize", *CPU, "--input", self.path("x.safetensors"), "--dump", self.path("out")]
        said = self.refused(1, *base, "--tensor", "layers.7.y")
        self.assertIn("(did you mean 'layers.7.x'?)", said)
        self.assertIn("layers.0.x, ", said)
        self.assertIn("and 6 more", said)  # with the list layers.{}.x
        self.assertIn("name one with --tensor: it has layers.0.x", self.refused(1, *base))

    def test_mistakes_are_named(self):
        np.save(self.path("x.npy"), self.x())
        base = ["quantize", *CPU, "--input", self.path("x.npy"), "--dump", self.path("out")]
        splits = ["--splits", self.path("s.json")]
        with open(splits[1], "w") as file:
            json.dump([1, 2], file)
        for operand in ("activations", "gradients"):
            self.assertIn("the splits sum to 3 but the shape has 192 rows; the tensor has that many",
                          self.refused(1, *base, *splits, "--operand", operand))
        with open(self.path("s.json"), "w") as file:
            file.write("{")
        self.assertIn("s.json", self.refused(1, *base, *splits))
        self.assertIn("/nowhere", self.refused(1, "quantize", *CPU, "--input", "/nowhere",
                                               "--dump", self.path("out")))
        self.assertIn("fp4", self.refused(1, *base, "--activation_format", "fp4"))
        np.save(self.path("x.npy"), np.zeros((4, 20), np.float32))
        self.assertIn("multiple of 16", self.refused(1, *base))


class Compare(CommandLine):
    def test_a_comparison_is_printed_recorded_and_exported(self):
        arguments = ["compare", *CPU, "--tokens", 64, "--k", 256, "--timed_launches", 2]
        table = self.ok(*arguments, "--output", self.path("c.session"))
        for word in ("SNR", "of copy", "FP8 block, power-of-two scales", "rowwise", "columnwise", "NVFP4"):
            self.assertIn(word, table)
        # FP32 scales waste no range and powers of two some, wherever a recipe has both.
        title = next(line for line in table.splitlines() if line.startswith("recipe"))
        end = title.index("wasted, binades") + len("wasted, binades")
        for recipe in ("FP8 tensor", "FP8 delayed", "FP8 block"):
            before = table[:table.index("The 3 columns")]
            rows = [line for line in before.splitlines() if line.startswith(recipe) and "rowwise" in line]
            self.assertEqual(len(rows), 2)
            wasted = {"power-of-two" in row: float(row[:end].split()[-1]) for row in rows}
            self.assertEqual(wasted[False], 0)
            self.assertGreater(wasted[True], 0)
        self.ok("export", self.path("c.session"), "--csv", self.path("csv"))
        with open(self.path("csv/comparisons.csv")) as file:
            self.assertEqual(len(file.readlines()), 1 + 2 * 8)
        self.assertIn("c.session", self.refused(1, *arguments, "--output", self.path("c.session")))

    def test_elements_that_no_snr_counts_are_in_the_table(self):
        x = np.random.default_rng(3).standard_normal((8, 128)).astype(np.float32)
        x[2, 5] = np.inf  # in NVFP4, the amax of the expert
        np.save(self.path("x.npy"), x)
        arguments = ["compare", *CPU, "--num_experts", 1, "--tokens", 8, "--k", 128, "--timed_launches", 0,
                     "--activations.file.path", self.path("x.npy"), "--recipes", "fp8-block,nvfp4"]
        reports = json.loads(self.ok(*arguments, "--json"))["reports"]
        left_out = [r["statistics"]["lost"] + r["statistics"]["undefined"] for r in reports]
        self.assertGreater(left_out[2], left_out[0])
        table = self.ok(*arguments).splitlines()
        title = next(line for line in table if line.startswith("recipe"))
        rows = table[table.index(title) + 1:][:len(reports)]
        for row, count in zip(rows, left_out):
            self.assertIn(f"({grouped(count)} left out)", row)

    def test_chosen_recipes_as_json(self):
        out = json.loads(self.ok("compare", *CPU, "--operand", "weights", "--recipes",
                                 "fp8-block,fp8-per-tensor", "--pow2_scales", "false",
                                 "--k", 256, "--timed_launches", 0, "--json"))
        self.assertIs(out["request"]["weights"], True)
        self.assertEqual([r["recipe"]["scaling"] for r in out["reports"]],
                         ["fp8-block"] * 2 + ["fp8-per-tensor"] * 2)
        report = out["reports"][0]
        self.assertIs(report["recipe"]["pow2_scales"], False)
        self.assertEqual(report["times_ns"], [])
        self.assertEqual(len(report["sample"]["decoded"]), 32 * 32)

    def test_mistakes_are_named(self):
        self.assertIn("timed_launches is 5000",
                      self.refused(1, "compare", *CPU, "--timed_launches", 5000))
        self.assertIn("fp3", self.refused(1, "compare", *CPU, "--recipes", "fp3"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
