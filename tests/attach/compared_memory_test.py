"""`expertscope attach --compare-memory`: what memory shows before and after replays, of programs with a mistake and of their
healthy twins, and that only memory is read that is certain to be there.

Arguments: expertscope, the folder with the stub and the programs."""

import subprocess
import unittest

from attached_programs import PROGRAM, WAYS, AttachCase, command, environment


class ComparedMemory(AttachCase):
    RESET = "replays are not compared since the device's context was reset"
    OTHERS = "graphs of another context are not compared"

    def compared(self, scenario, way="getproc"):
        reports, err = self.attach(command(scenario, way), "--compare-memory", expect=0)  # possible at most
        self.assertIn("memory compared before and after", err)
        return [finding for report in reports for finding in report["findings"]], err

    def test_memory_shows_inputs_that_nobody_refreshes(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                (finding,), err = self.compared("input-not-refreshed", way)
                self.assertEqual((finding["rule"], finding["confidence"]), ("stale-input", "possible"))
                self.assertIn('writes "cudaMalloc 3" (1 MiB), which no graph reads, and not "cudaMalloc 1"',
                              finding["title"])
                self.assertIn("replays 2 to 6", " ".join(finding["evidence"]))
                self.assertEqual(len(finding["nodes"]), 1)
                self.assertIn("before and after 6 replays", err)

    def test_memory_is_compared_tensor_by_tensor_and_however_much_there_is(self):
        (finding,), _ = self.compared("tensor-not-refreshed")
        self.assertRegex(finding["title"], r'writes "tensor \d+" \(cached, 512 bytes\), which no .* and not "tensor')
        self.setUp()
        (finding,), _ = self.compared("batches-in-much-memory")
        self.assertIn("12803 MiB, was hashed", " ".join(finding["evidence"]))

    def test_memory_shows_an_input_that_is_no_longer_refreshed(self):
        (finding,), _ = self.compared("one-input-forgotten")
        self.assertEqual((finding["rule"], finding["confidence"]), ("stale-input", "possible"))
        self.assertIn('reads "cudaMalloc 3" (1 MiB), which the program refreshed up to replay 4, and since then only '
                      '"cudaMalloc 1"', finding["title"])

    def test_the_report_says_what_was_measured(self):
        reports, _ = self.attach(command("input-refreshed"), "--compare-memory", expect=0)
        self.assertEqual(reports[0]["snapshot"]["graphs"][0]["compared"],
                         {"replays": 6, "hashed_bytes": 3 << 20, "partial": False, "written_places": 1,
                          "written_bytes": 4096, "inputs": 1, "input_bytes": 1 << 20, "refreshed": 5})
        text = subprocess.run([PROGRAM, "attach", "--compare-memory", "--", *command("input-refreshed")],
                              capture_output=True, text=True, timeout=60, env=environment()).stdout
        self.assertIn("graph 1: 6 replays compared in 3 MiB: the newest changed 1 place (4 KiB) and reaches 1 input (1 MiB) "
                      "that none changes, refreshed before 5 of them", " ".join(text.split()))
        self.setUp()
        reports, _ = self.attach(command("input-refreshed"), expect=0)
        self.assertIsNone(reports[0]["snapshot"]["graphs"][0]["compared"])

    def test_memory_shows_what_replays_carry_over(self):
        (finding,), _ = self.compared("flag-carried-over")
        self.assertEqual((finding["rule"], finding["confidence"]), ("carried-over", "possible"))
        self.assertIn("Replays 2 to 9, 17 and 33 of graph 1", finding["title"])
        self.assertIn("2 allocations", " ".join(finding["evidence"]))

    def test_healthy_programs_are_clean_when_their_memory_is_compared(self):
        for scenario in ["input-refreshed", "both-inputs-refreshed", "nothing-written", "flag-reset", "trained", "healthy"]:
            with self.subTest(scenario=scenario):
                self.setUp()
                self.assertEqual(self.compared(scenario)[0], [])

    def test_only_memory_that_is_certain_to_be_there_is_read(self):
        (finding,), _ = self.compared("mapped-batches")
        self.assertIn('writes "cuMemMap 3"', finding["title"])
        # A wrong read would end the program.
        for scenario, replays in [("memory-of-others", "6 replays"),
                                  ("context-reset", f"6 replays; {self.RESET}"),
                                  ("other-context", f"12 replays; {self.OTHERS}")]:
            for way in WAYS:
                with self.subTest(scenario=scenario, way=way):
                    self.setUp()
                    findings, err = self.compared(scenario, way)
                    self.assertEqual(findings, [])
                    self.assertIn(f"before and after {replays}\n", err)
                    self.assertIn("ended with exit code 0", err)

    def test_the_report_says_what_was_not_compared(self):
        reports, _ = self.attach(command("context-reset"), "--compare-memory", expect=0)
        self.assertEqual(reports[0]["snapshot"]["not_compared"], self.RESET)
        text = subprocess.run([PROGRAM, "attach", "--compare-memory", "--", *command("other-context")],
                              capture_output=True, text=True, timeout=60, env=environment()).stdout
        self.assertIn(self.OTHERS.capitalize() + ".", " ".join(text.split()))

    def test_without_the_option_no_memory_is_read(self):
        reports, err = self.attach(command("input-not-refreshed"), expect=0)
        self.assertNotIn("memory compared", err)
        self.assertEqual([one for report in reports for one in report["findings"]], [])

    def test_a_hang_says_that_the_launch_waits_for_the_comparison(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                reports, err = self.attach(command("hangs", way), "--compare-memory", "--hang-after", "1", "--end-on-hang",
                                           expect=2)
                stall = reports[0]["experiments"][0]["stall"]
                self.assertEqual(reports[0]["snapshot"]["graphs"][stall["graph"]]["name"], "graph 2")
                self.assertIn("in cudaGraphLaunch, which waits for the end of its replay to compare memory, for ",
                              stall["evidence"])
        self.setUp()
        reports, _ = self.attach(command("hangs"), "--hang-after", "1", "--end-on-hang", expect=2)
        self.assertNotIn("to compare memory", reports[0]["experiments"][0]["stall"]["evidence"])

    def test_a_launch_that_waits_to_be_compared_has_not_begun(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                reports, _ = self.attach(command("hangs-before-a-replay", way), "--compare-memory", "--hang-after", "1",
                                         "--end-on-hang", expect=2)
                evidence = reports[0]["experiments"][0]["stall"]["evidence"]
                self.assertIn("The last launch on the stream that is waited for is launch 2 of graph 1; the launch that waits "
                              "has not begun. ", evidence)
                self.assertIn("in cudaGraphLaunch, which waits for earlier work on its stream to compare memory, for ", evidence)
        self.setUp()
        reports, _ = self.attach(command("hangs-before-a-replay"), "--hang-after", "1", "--end-on-hang", expect=2)
        self.assertIn("is launch 3 of graph 1. ", reports[0]["experiments"][0]["stall"]["evidence"])

    def test_comparisons_end_when_the_kernel_cannot_be_loaded(self):
        reports, err = self.attach(command("input-not-refreshed"), "--compare-memory", expect=0, STUB_REFUSES_PTX="218")
        self.assertIn("memory compared before and after 0 replays; replays are no longer compared: "
                      "cuModuleLoadData gave error 218", err)


if __name__ == "__main__":
    unittest.main()
