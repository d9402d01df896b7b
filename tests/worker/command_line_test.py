"""`expertscope run`, `list`, `export` and the help, as a user calls them.

Usage: command_line_test.py EXPERTSCOPE   (the worker is next to it)
"""

import csv
import json
import os
import shlex
import signal
import sqlite3
import subprocess
import unittest

import numpy as np

from command_line import CPU, PROGRAM, SMALL, CommandLine, call, grouped

ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../assets")


def tensors_of(result):
    """By name, in the order of their rows."""
    return {row["tensor"]: row for row in result["tensors"]}


class Run(CommandLine):
    def test_json_states_request_and_result(self):
        out = json.loads(self.ok("run", *CPU, *SMALL, "--recipe.scaling", "fp8-per-tensor",
                                 "--pow2_scales", "false", "--routing.distribution", "zipf", "--json"))
        self.assertEqual(out["request"]["routing"]["distribution"], "zipf")
        self.assertEqual(out["request"]["recipe"]["scaling"], "fp8-per-tensor")
        self.assertIs(out["request"]["recipe"]["pow2_scales"], False)
        splits = [int(rows) for rows in out["result"]["splits"]]
        self.assertEqual(sum(splits), 64)
        self.assertGreater(splits[0], splits[3])
        self.assertEqual(len(out["result"]["iterations"]), 2)
        self.assertEqual(len(out["result"]["experts"]), 4)
        tensors = tensors_of(out["result"])
        self.assertEqual(list(tensors), ["x", "w-up", "y"], "those of a linear step forward")
        self.assertEqual(tensors["y"]["rows"], sum(splits))
        self.assertNotIn("quantization", tensors["y"])
        self.assertGreater(tensors["x"]["quantization"]["snr_db"], 20)
        self.assertGreater(out["records"], 0)

    def test_iterations_go_on_until_the_median_is_known_or_the_time_is_up(self):
        run = ["run", *CPU, *SMALL[:-1], 5]
        result = json.loads(self.ok(*run, "--median_within", 40, "--json"))["result"]
        self.assertEqual(result["iteration_end"], "converged")
        self.assertGreaterEqual(len(result["iterations"]), 6)
        result = json.loads(self.ok(*run, "--median_within", 0.01, "--time_limit_s", 0.3, "--json"))["result"]
        self.assertEqual(result["iteration_end"], "time-limit")
        last = result["iterations"][-1]
        self.assertGreater(last["start_ns"] + last["duration_ns"], 0.25e9)
        self.assertRegex(self.ok(*run, "--median_within", 40), r"median [0-9.]+ ms ±[0-9.]+ %, .*"
                         r"\nmedian      known within ±40 %\n")
        self.assertIn("between 0.01 and 50", self.refused(1, *run, "--median_within", 60))

    def test_outputs_that_overflow_are_counted_as_lost(self):
        random = np.random.default_rng(7)
        x, w = ((200 * random.standard_normal((rows, 64))).astype(np.float16) for rows in (64, 32))
        np.save(self.path("x.npy"), x)
        np.save(self.path("w.npy"), w)
        run = ["run", *CPU, "--num_experts", 1, "--tokens", 64, "--n", 32, "--k", 64, "--recipe", "bf16",
               "--high_precision", "fp16", "--iterations", 1, "--activations.file.path", self.path("x.npy"),
               "--weights.file.path", self.path("w.npy")]
        expert = json.loads(self.ok(*run, "--json"))["result"]["experts"][0]
        exact = x.astype(np.float64) @ w.astype(np.float64).T
        with np.errstate(over="ignore"):
            rounded = exact.astype(np.float16).astype(np.float64)
        kept = np.isfinite(rounded)
        self.assertGreater(kept.sum(), 0)
        self.assertEqual(int(expert["fprop"]["lost"]), exact.size - kept.sum())
        error = (rounded - exact)[kept]
        self.assertAlmostEqual(expert["fprop"]["snr_db"],
                               10 * np.log10((exact[kept] ** 2).sum() / (error ** 2).sum()), delta=0.1)
        self.assertRegex(self.ok(*run), rf"Y lost.*\n +0 +64 .* {exact.size - kept.sum():,}".replace(",", " "))

    def test_mixed_recipes_keep_the_settings_of_the_down_projection(self):
        run = ["run", *CPU, *SMALL, "--step", "expert-layer", "--recipe", "bf16", "--mixed-recipes", "true",
               "--down-scaling", "fp8-block"]
        of_a = []
        for values in ("e4m3", "e5m2"):
            result = json.loads(self.ok(*run, "--activation-format", values, "--json"))["result"]
            self.assertEqual(result["effective"]["recipe"]["activation_format"], values)
            self.assertEqual([one["field"] for one in result["deviations"]], [])
            of_a.append(tensors_of(result)["a"]["quantization"]["snr_db"])
        # Two bits of mantissa, not three.
        self.assertLess(of_a[1], of_a[0] - 4)

    def test_lost_elements_are_counted_and_stand_beside_every_snr(self):
        """One infinity: with NVFP4 its amax is every element's, with a scale per block its block's."""
        x = np.random.default_rng(5).standard_normal((8, 128)).astype(np.float32)
        x[3, 7] = np.inf
        np.save(self.path("x.npy"), x)
        run = ["run", *CPU, "--num_experts", 1, "--tokens", 8, "--n", 32, "--k", 128, "--iterations", 1,
               "--activations.file.path", self.path("x.npy"), "--passes", "both"]
        for recipe in ("bf16", "fp8-per-tensor", "fp8-block", "fp8-delayed", "mxfp8", "nvfp4"):
            with self.subTest(recipe):
                result = json.loads(self.ok(*run, "--recipe", recipe, "--json"))["result"]
                own = tensors_of(result)["x"]["quantization"]
                after = own["after"]
                lost = int(own["lost"])
                self.assertEqual(int(own["undefined"]), 1)
                self.assertLessEqual(abs(lost - int(after["infinities"]) - int(after["nans"])), 1)
                self.assertEqual(int(own["experts"][0]["lost"]), lost)
                text = self.ok(*run, "--recipe", recipe)
                self.assertRegex(text, rf"quantizing  X SNR .* \({grouped(lost + 1)} left out\), .* {grouped(lost)} lost, "
                                 "1 NaN or infinite before quantization\n")
        self.assertGreater(lost, 1000)
        self.assertNotEqual(own["snr_db"], "Infinity")
        self.assertNotIn("X SNR exact", text)
        recording = self.path("lost.session")
        self.ok(*run, "--recipe", "nvfp4", "--record", recording)
        self.ok("export", recording, "--csv", self.path("tables"), "--html", self.path("page.html"))
        with open(self.path("tables/operands.csv")) as file:
            rows = {row["operand"]: row for row in csv.DictReader(file)}
        self.assertEqual(int(rows["X"]["lost"]), lost)
        with open(self.path("page.html")) as file:
            self.assertIn(f"({grouped(lost + 1)} left out)", file.read())
        database = sqlite3.connect(recording)
        self.assertEqual(database.execute("SELECT lost FROM tensor_operand_experts JOIN tensors USING (run_id, tensor_id) "
                                          "WHERE tensor = 'x'").fetchall(), [(lost,)])

    def test_every_operand_of_a_layer_is_in_the_summary(self):
        run = ["run", *CPU, *SMALL, "--step", "expert-layer", "--passes", "both"]
        text = self.ok(*run)
        for symbol in ("X", "Wup", "A", "Wdown", "dY", "dH"):
            self.assertRegex(text, rf"\nquantizing  {symbol} SNR [0-9.]+ dB, [0-9 ]+ of [0-9 ]+ saturated")
        self.assertRegex(text, r"tensor +description +rows +columns +memory +kept for backward +SNR in the layer +lost +SNR of quantizing it")
        result = json.loads(self.ok(*run, "--json"))["result"]
        tensors = tensors_of(result)
        in_layer = tensors["a"]["error"]["snr_db"]
        own = tensors["a"]["quantization"]["snr_db"]
        self.assertLess(in_layer, own - 3, "what came before A counts in the layer")
        self.assertRegex(text, rf"\nA +activation of H .* {in_layer:.2f} dB +0 +{own:.2f} dB")
        self.assertEqual(len(tensors["dh"]["quantization"]["experts"]), 4)

    def test_the_help_offers_what_is_taken(self):
        for option, taken, refused in (("wgrad-type", "bf16, fp32", "fp16"), ("high-precision", "bf16, fp16", "fp32")):
            with self.subTest(option):
                self.assertRegex(self.ok("run", "--help"), rf"--{option} *\n( +[^- ][^\n]*\n)+ +{taken}; default bf16\n")
                values = json.loads(self.ok("list", option, "--json"))
                self.assertEqual([one["name"] for one in list(values.values())[0]], taken.split(", "))
                said = self.refused(1, "run", *CPU, *SMALL, f"--{option}", refused)
                self.assertIn(f"is {refused}, which it does not take; choose one of {taken}", said)

    def test_a_recorded_routing_is_replayed_step_by_step(self):
        random = np.random.default_rng(3)
        ids = np.stack([random.permutation(6)[:2] for _ in range(40)]).astype(np.int16).reshape(40, 1, 2)
        ids[35, 0, 1] = -1
        np.save(self.path("routed_experts.npy"), ids)
        run = ["run", *CPU, "--recorded_routing", self.path("routed_experts.npy"), "--tokens_per_step", 16,
               "--n", 32, "--k", 64]
        out = json.loads(self.ok(*run, "--json"))
        self.assertEqual(out["request"]["shape"]["num_experts"], 6)
        self.assertEqual(int(out["request"]["shape"]["rows"]), 32)
        recording = out["result"]["recorded_routing"]
        self.assertEqual(recording["source"], "vLLM routed_experts, int16 [40, 1, 2]")
        self.assertEqual([int(step["rows"]) for step in recording["steps"]], [32, 32, 15])
        for number, step in enumerate(recording["steps"]):
            wanted = ids[16 * number:16 * number + 16]
            self.assertEqual([int(rows) for rows in step["splits"]],
                             np.bincount(wanted[wanted >= 0], minlength=6).tolist())
            self.assertGreater(step["y_snr_db"], 20)
            self.assertGreater(step["median_ns"], 0)
        self.assertEqual(int(recording["steps"][2]["dropped"]), 1)
        text = self.ok(*run, "--iterations", 2)
        self.assertIn("3 of 3 steps, 1 choice without an expert", text)
        self.assertIn("2 of 3 steps were reached; set launch.iterations to 3", text)
        self.assertRegex(text, r"Steps by time; slowest: not distinguishable:\n"
                               r"step +rank +time +range +iterations.*\n(.*\n){2}A step's time is the median")
        self.assertIn("set the experts to at least 6", self.refused(1, *run, "--experts", 4))
        self.assertIn("1 layer; choose 0", self.refused(1, *run, "--routing.layer", 1))

    def test_a_routing_that_can_be_read_in_two_ways_is_refused_with_a_command_for_each(self):
        ids = np.stack([np.random.default_rng(i).permutation(5)[:2] for i in range(4 * 768)]).reshape(4, 768, 2)
        ids[0, 0, 0] = -1
        path = self.path("a routing.npy")
        np.save(path, ids)
        run = ["run", *CPU, "--recorded-routing", path, "--n", 32, "--k", 64, "--iterations", 1]
        said = self.refused(1, *run)
        self.assertIn("can be read in 2 ways", said)
        commands = [shlex.split(line) for line in said.splitlines() if line.strip().startswith("expertscope run")]
        self.assertEqual([command[-2:] for command in commands], [["--numbers", "vllm"], ["--numbers", "megatron"]])
        # One that was typed is replaced: no option is taken twice.
        for typed in (["--routing.numbers=detect"], ["--numbers", "detect"]):
            said = self.refused(1, *run[:3], *typed, *run[3:])
            again = [shlex.split(line) for line in said.splitlines() if line.strip().startswith("expertscope run")]
            self.assertEqual([sum("umbers" in word for word in command) for command in again], [1, 1])
            for command, layers in zip(again, (768, 4)):
                out = json.loads(self.ok(*command[1:], "--json"))
                self.assertEqual(int(out["result"]["recorded_routing"]["layers"]), layers)
        for command, layers in zip(commands, (768, 4)):
            out = json.loads(self.ok(*command[1:], "--json"))
            self.assertEqual(int(out["result"]["recorded_routing"]["layers"]), layers)

    def test_a_path_that_is_too_long_is_refused_with_its_length_the_limits_and_the_way_out(self):
        shipped = os.path.join(ASSETS, "sessions", "h200_layer.session")
        for length in (5000, 300):
            words = f"it has {length} bytes (at most 4095) and its longest name {length} (at most 255)"
            name = "a" * (length - 4) + ".npy"
            for arguments in (("open", name), ("export", name, "--csv", self.path("tables")),
                              ("export", shipped, "--csv", name), ("export", shipped, "--html", name),
                              ("export", shipped, "--chrome", name), ("run", "--request", name),
                              ("run", "--requests", name), ("run", "--recorded-routing", name),
                              ("run", "--routing.distribution", "file", "--routing.path", name),
                              ("run", "--activations.file.path", name), ("run", "--record", name),
                              ("run", "--core-dump", name), ("run", "--worker", name),
                              ("sweep", "--record", name), ("quantize", "--input", name, "--dump", self.path("out")),
                              ("doctor", "--snapshot", name), ("doctor", "--report", name),
                              ("doctor", "--record", name), ("bench", "--suite", "quantize", "--out", name)):
                with self.subTest(arguments=[one[:30] for one in arguments], length=length):
                    done = call(*arguments, env={"DISPLAY": ""})
                    self.assertNotEqual(done.returncode, 0, done.stdout)
                    # A request takes no longer one, whichever machine would open it.
                    checked = length == 5000 and arguments[1].startswith(("--routing", "--activations"))
                    self.assertIn("has 5000 bytes; a name or a path has at most 4095" if checked else words, done.stderr)
                    self.assertIn("choose a shorter name", done.stderr)
                    self.assertLessEqual(done.stderr.count("aaa.npy"), 1, "the file is named twice")
                    self.assertLess(len(done.stderr), 1000)

    def test_a_refused_run_leaves_no_recording(self):
        session = self.path("refused.session")
        np.save(self.path("x.npy"), np.ones((3, 3), np.float32))
        for refused in (["--activations.file.path", self.path("x.npy")],
                        ["--routing.distribution", "file", "--routing.path", self.path("none.json")]):
            self.refused(1, "run", *CPU, *SMALL, *refused, "--record", session)
            self.assertEqual([name for name in os.listdir(os.path.dirname(session)) if "refused" in name], [])

    def test_a_log_that_fails_midway_says_what_is_in_which_recording(self):
        requests = [{"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256}, "launch": {"iterations": count}}
                    for count in (2, 2, 100_000)]
        with open(self.path("log.jsonl"), "w") as log:
            log.writelines(json.dumps(request) + "\n" for request in requests)
        worker = self.worker_that_writes_its_pid()
        for moved in (False, True):
            session = self.path(f"moved-{moved}.session")
            process = subprocess.Popen(
                [PROGRAM, "run", *CPU, "--worker", worker, "--requests", self.path("log.jsonl"), "--json",
                 "--record", session], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            with process:
                for _ in range(2):
                    self.assertTrue(process.stdout.readline())
                if moved:
                    os.rename(session, self.path("elsewhere.session"))
                with open(self.path("pid")) as file:
                    os.kill(int(file.read()), signal.SIGKILL)
                _, said = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 2, said)
            self.assertIn("the worker is lost", said)
            kept = self.path("moved-True-2.session") if moved else session
            self.assertTrue(said.endswith(f"expertscope: recorded before that: 2 runs in {kept}\n"), said)
            self.assertEqual("The whole recording is now in" in said, moved, said)
            self.ok("export", kept, "--csv", self.path(f"tables-{moved}"))

    def test_people_get_a_summary(self):
        out = self.ok("run", *CPU, *SMALL, "--recipe", "nvfp4", "--passes", "forward-backward")
        for word in ("device", "median", "SNR", "expert", "NVFP4", "Both", "FLOP/s at the median"):
            self.assertIn(word, out)

    def test_mistakes_name_the_value_the_limit_and_what_was_meant(self):
        for arguments, words in (
                (("run", "--timeout", -1), "--timeout: -1 is too small; it must be at least 0"),
                (("run", "--tokenz", 5), "run has no option --tokenz (did you mean '--tokens'?)"),
                (("run", "--tokenz=5"), "run has no option --tokenz (did you mean '--tokens'?)"),
                (("doctor", "matrix", "--replay", 5),
                 "doctor matrix has no option --replay (did you mean '--replays'?)"),
                (("run", "x.npy"), "'x.npy' was not expected"),
                (("run", "--recipe", "nvfp5"), "(did you mean 'nvfp4'?)"),
                (("run", "--recipe", "fp8-tensor"), "(did you mean 'fp8-per-tensor'?)"),
                (("run", "--preset", "Laptop smal"), "there is no preset 'Laptop smal' (did you mean 'Laptop small'?)"),
                (("run", "--recipe", "bf16", "--scaling", "mxfp8"),
                 "--recipe.scaling was given 2 times (bf16, mxfp8); give it once"),
                (("compare", "--operand", "weigths"), "not one of activations, weights, gradients (did"),
                (("list", "presetz"), "(did you mean 'presets'?)"),
                (("doctor", "matrix", "--recipes", "nvfp4,bf17"), "'bf17' is not one of bf16"),
                (("open", "--text-scale", 3), "3 must be between 0.8 and 2")):
            said = call(*arguments)
            self.assertNotEqual(said.returncode, 0)
            self.assertIn(words, said.stderr)
            self.assertLess(len(said.stderr), 500)

    def test_dashes_underscores_and_letter_case_are_the_same(self):
        out = json.loads(self.ok("run", *CPU, "--num-experts", 4, "--shape.rows=64", "--n", 64, "--k", 256,
                                 "--iterations", 2, "--routing.distribution", "One_Hot", "--pow2-scales", "off",
                                 "--recipe.delayed.history-length=7", "--recipe", "FP8_Block", "--json"))
        request = out["request"]
        self.assertEqual(request["shape"]["num_experts"], 4)
        self.assertEqual(request["routing"]["distribution"], "one-hot")
        self.assertEqual(request["recipe"]["scaling"], "fp8-block")
        self.assertIs(request["recipe"]["pow2_scales"], False)
        self.assertEqual(request["recipe"]["delayed"]["history_length"], 7)
        # Words of other options and of commands below a command likewise.
        self.ok("compare", *CPU, *SMALL, "--timed-launches", 0, "--recipes", "FP8_Block,nvfp4", "--operand", "Weights")
        self.assertIn("'2x' is not a geometry",
                      self.refused(3, "doctor", "matrix", "--worker_backend", "cpu", "--geometries", "2x"))

    def test_settings_are_called_what_people_call_them(self):
        out = json.loads(self.ok("run", *CPU, "--experts", 4, "--tokens", 64, "--n", 64, "--k", 256, "--iterations", 2,
                                 "--routing", "zipf", "--launch", "eager", "--backend", "cpu", "--json"))
        self.assertEqual(out["request"]["shape"]["num_experts"], 4)
        self.assertEqual(out["request"]["routing"]["distribution"], "zipf")
        for arguments, words in (
                (("--expertz", 4), "(did you mean '--experts'?)"),
                (("--history", 4), "'--history-length'"),
                (("--activations", "x.npy"), "'--activations.file.path'"),
                (("--routing", "zpif"), "--routing is 'zpif' (did you mean 'zipf'?); it must be uniform")):
            self.assertIn(words, self.refused(1, "run", *CPU, *arguments))

    def test_a_log_of_requests_takes_no_fields(self):
        with open(self.path("log.jsonl"), "w") as file:
            file.write(json.dumps({"recipe": {"scaling": "fp8-block"}}) + "\n")
        said = self.refused(1, "run", *CPU, "--requests", self.path("log.jsonl"), "--recipe", "mxfp8")
        self.assertIn("leave out --recipe or write it into the file", said)

    def test_a_request_file_is_overridden_by_single_fields(self):
        with open(self.path("r.json"), "w") as file:
            json.dump({"shape": {"num_experts": 2, "rows": 32, "n": 32, "k": 128},
                       "launch": {"iterations": 1}, "seed": 5}, file)
        out = json.loads(self.ok("run", *CPU, "--request", self.path("r.json"), "--seed", 9, "--json"))
        self.assertEqual(out["request"]["seed"], 9)
        self.assertEqual(out["request"]["shape"]["num_experts"], 2)

    def test_a_preset_is_found_by_its_name(self):
        presets = json.loads(self.ok("list", "presets", "--json"))["presets"]
        laptop = next(p for p in presets if p["laptop"])
        done = call("run", *CPU, "--preset", laptop["name"].upper(), "--iterations", 1, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["request"]["shape"]["preset"], laptop["name"])

    def test_a_recording_is_kept_and_exported(self):
        session = self.path("one.session")
        self.ok("run", *CPU, *SMALL, "--record", session)
        self.assertIn("one.session", self.refused(1, "run", *CPU, *SMALL, "--record", session))
        self.ok("export", session, "--chrome", self.path("t.json"), "--csv", self.path("csv"))
        with open(self.path("t.json")) as file:
            self.assertGreater(len(json.load(file)["traceEvents"]), 4)
        # export_command_test checks every table against the session.
        self.assertLessEqual({"experts.csv", "iterations.csv", "records.csv", "runs.csv"},
                             set(os.listdir(self.path("csv"))))

    def test_a_recording_keeps_what_the_window_shows_in_addition_to_runs(self):
        session = self.path("numerics.session")
        self.ok("run", *CPU, *SMALL, "--record", session, "--with_comparison", "--with_history", 5)
        database = sqlite3.connect(f"file:{session}?mode=ro", uri=True)
        self.addCleanup(database.close)
        self.assertEqual(database.execute("SELECT steps, outlier_step FROM comparison_series").fetchall(),
                         [(5, 4)])
        self.assertEqual(database.execute("SELECT count(*) FROM comparison_delayed_scales").fetchone(),
                         (20,))
        # A scale is made from what the history held before the step.
        stale = database.execute(
            "SELECT scale_used > 2 * scale_wanted FROM comparison_delayed_scales WHERE expert = 0 "
            "ORDER BY report").fetchall()
        self.assertEqual(stale[4], (1,), "the outlier meets a scale that is too large for it")
        recipes = database.execute("SELECT count(DISTINCT scaling) FROM comparison_reports").fetchone()
        self.assertGreaterEqual(recipes[0], 5)
        self.assertIn("--record", self.refused(1, "run", *CPU, *SMALL, "--with_history", 5))

    def test_recipes_have_short_names(self):
        out = json.loads(self.ok("run", *CPU, *SMALL, "--recipe", "fp8-per-tensor", "--history_length",
                                 7, "--margin", -1, "--algorithm", "most-recent", "--hadamard", "off",
                                 "--json"))
        recipe = out["request"]["recipe"]
        self.assertEqual(recipe["scaling"], "fp8-per-tensor")
        self.assertEqual(recipe["delayed"], {"history_length": 7, "margin": -1,
                                             "algorithm": "most-recent"})
        self.assertIs(recipe["hadamard"], False)
        self.assertIs(recipe["square_weight_blocks"], True)
        self.assertIn("fp3", self.refused(1, "run", *CPU, "--recipe", "fp3"))

    def test_the_shipped_recording_exports_everything_it_has(self):
        here = os.path.dirname(__file__)
        self.ok("export", os.path.join(here, "../../assets/sessions/h200_layer.session"), "--csv", self.path("csv"))
        for table in ("comparisons", "recipe_steps", "power", "memory", "expert_times"):
            with open(os.path.join(self.path("csv"), table + ".csv")) as file:
                self.assertGreater(len(file.readlines()), 5, table)
        # What a recording does not have produces no empty table.
        self.ok("export", os.path.join(here, "sessions/healthy_step.session"), "--csv", self.path("visit"))
        self.assertNotIn("comparisons.csv", os.listdir(self.path("visit")))

    def test_mistakes_are_named(self):
        self.assertIn("multiple of 16", self.refused(1, "run", *CPU, "--k", 100))
        self.assertIn("MXFP99", self.refused(1, "run", *CPU, "--recipe.scaling", "MXFP99"))
        self.assertIn("--tokens is 'many'", self.refused(1, "run", *CPU, "--tokens", "many"))
        self.assertIn("no preset", self.refused(1, "run", *CPU, "--preset", "nothing"))
        self.assertIn("r.json", self.refused(1, "run", *CPU, "--request", self.path("r.json")))
        self.assertIn("/nowhere/x.npy",
                      self.refused(1, "run", *CPU, *SMALL, "--activations.file.path", "/nowhere/x.npy"))

    def test_a_worker_that_cannot_start_is_another_exit_code(self):
        self.assertIn("/nowhere/worker", self.refused(2, "run", "--worker", "/nowhere/worker"))

    def test_a_remote_worker_is_reached_through_ssh_alone(self):
        # Stands in for ssh: records its arguments, then acts as the worker of the other machine.
        stand_in = self.path("ssh")
        with open(stand_in, "w") as file:
            file.write('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.arguments"\n'
                       f'exec "{os.path.dirname(PROGRAM)}/expertscope-worker" --backend cpu\n')
        os.chmod(stand_in, 0o755)
        there = ["--remote", "user@host", "--worker", "expertscope-worker"]
        out = json.loads(self.ok("run", *there, *SMALL, "--json", env={
            "PATH": self._folder.name + os.pathsep + os.environ["PATH"]}))
        self.assertEqual(len(out["result"]["iterations"]), 2)
        with open(stand_in + ".arguments") as file:
            self.assertEqual(file.read().split("\n")[:-1],
                             ["-T", "-o", "BatchMode=yes", "--", "user@host", "'expertscope-worker'"])
        # A routing is a file of the other machine: one of that name here is not looked at.
        os.remove(stand_in + ".arguments")
        np.save(self.path("routing.npy"), np.array([[[0, 1]] * 768] * 4))
        said = self.refused(1, "run", *there, *SMALL, "--recorded-routing", self.path("routing.npy"),
                            env={"PATH": self._folder.name + os.pathsep + os.environ["PATH"]})
        self.assertTrue(os.path.exists(stand_in + ".arguments"), said)

    def test_a_request_log_runs_line_by_line_on_one_worker(self):
        shape = {"num_experts": 4, "rows": 64, "n": 64, "k": 256}
        with open(self.path("log.jsonl"), "w") as file:
            for scaling in ("bf16", "fp8-block"):
                file.write(json.dumps({"shape": shape, "recipe": {"scaling": scaling}}) + "\n\n")
        lines = self.ok("run", *CPU, "--requests", self.path("log.jsonl"), "--json", "--record",
                        self.path("log.session")).splitlines()
        self.assertEqual([json.loads(line)["request"]["recipe"]["scaling"] for line in lines],
                         ["bf16", "fp8-block"])
        self.ok("export", self.path("log.session"), "--csv", self.path("csv"))
        with open(self.path("csv/runs.csv")) as file:
            self.assertEqual(len(file.readlines()), 3)
        with open(self.path("log.jsonl"), "a") as file:
            file.write('{"shape": {"tokens": -1}}\n')
        refused = self.refused(1, "run", *CPU, "--requests", self.path("log.jsonl"))
        self.assertIn("line 5", refused)
        self.assertIn("rows is -1", refused)

    def test_a_remote_name_cannot_be_an_option(self):
        self.assertIn("not a machine name",
                      self.refused(1, "run", "--remote=-oProxyCommand=true"))


class ListAndHelp(CommandLine):
    def test_exports_replace_nothing(self):
        session = self.path("s.session")
        self.ok("run", *CPU, *SMALL, "--record", session)
        targets = ["--chrome", self.path("t.json"), "--csv", self.path("csv")]
        self.ok("export", session, *targets)
        self.assertIn("t.json exists already", self.refused(1, "export", session, *targets[:2]))
        self.assertIn("csv holds files already", self.refused(1, "export", session, *targets[2:]))
        self.assertIn("--from is 5 ms; it must be less than --to, 2 ms",
                      self.refused(1, "export", session, "--chrome", self.path("u.json"), "--from", 5, "--to", 2))
        self.assertIn("--from is 1000000 ms; the last record starts at",
                      self.refused(1, "export", session, "--chrome", self.path("u.json"), "--from", 1e6))
        said = call("export", session, *targets[2:], "--run", 1)
        self.assertIn("--run requires --chrome", said.stderr)
        self.assertFalse(os.path.exists(self.path("u.json")))

    def test_list_has_every_topic(self):
        out = json.loads(self.ok("list", *CPU, "--json"))
        self.assertEqual(set(out), {"presets", "recipes", "backends", "gates", "libraries"})
        self.assertEqual([r["name"] for r in out["recipes"]],
                         ["bf16", "fp8-per-tensor", "fp8-block", "fp8-delayed", "mxfp8", "nvfp4"])
        for backend in out["backends"]:
            self.assertEqual(backend["available"], backend["name"] == "cpu-reference")
            self.assertEqual(backend["reason"] == "", backend["available"])
        self.assertTrue(any(g["support"] == "refused" and g["reason"] for g in out["gates"]))
        self.assertIn("cpu-reference", self.ok("list", *CPU))

    def test_list_knows_the_values_of_every_setting(self):
        self.assertEqual(json.loads(self.ok("list", *CPU, "backend", "--json"))["backends"],
                         json.loads(self.ok("list", *CPU, "backends", "--json"))["backends"])
        for name in ("routing", "routing.distribution"):
            listed = json.loads(self.ok("list", name, "--json"))["routing.distribution"]
            self.assertEqual([one["name"] for one in listed],
                             ["uniform", "mild", "zipf", "heavy", "one-hot", "half-empty", "file"])
        self.assertRegex(self.ok("list", "routing"), "\n  one-hot +Expert 0 gets every row\n")
        self.assertIn("an integer, between 1 and 1024", self.ok("list", "num-experts"))
        self.assertIn("(did you mean 'routing'?)", self.refused(1, "list", "rooting"))

    def test_list_of_presets_needs_no_worker(self):
        self.assertIn("presets", json.loads(self.ok("list", "presets", "--worker", "/nowhere/worker", "--json")))

    def test_every_command_has_help(self):
        for command in ("open", "run", "quantize", "compare", "bench", "list", "export"):
            self.assertIn("--help", self.ok(command, "--help"))
            self.assertIn(command, self.ok("--help"))
        for command in ("run", "quantize", "compare", "sweep", "doctor"):
            said = self.ok(command, "--help")
            self.assertNotRegex(said, r"--[a-z0-9.-]*_")
            self.assertNotIn("{false}", said)
        self.assertIn("--recipe.amax-epsilon", self.ok("run", "--help"))
        self.assertRegex(self.ok("--version"), r"expertscope \d")

    def test_an_unknown_command_is_named(self):
        self.assertIn("paint", self.refused(1, "paint"))
        self.assertIn("--nonsense", self.refused(1, "run", "--nonsense", "1"))

    def test_export_refuses_a_file_that_is_not_a_recording(self):
        with open(self.path("x.session"), "wb") as file:
            file.write(b"SQLite format 3\0" + b"\xff" * 4096)
        self.assertIn("x.session", self.refused(1, "export", self.path("x.session"),
                                                "--chrome", self.path("o.json")))
        self.assertFalse(os.path.exists(self.path("o.json")))
        self.refused(1, "export", self.path("x.session"))
        self.assertIn("/nowhere", self.refused(1, "export", "/nowhere", "--csv", self.path("c")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
