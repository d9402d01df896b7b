"""`expertscope attach --markers`: a hang shows the node that runs, and programs run as they do without markers.

Arguments: expertscope, the folder with the stub and the programs."""

import unittest

from attached_programs import WAYS, AttachCase, command


class Markers(AttachCase):
    def hang(self, scenario, *options, way="getproc"):
        reports, err = self.attach(command(scenario, way), "--hang-after", "2", "--end-on-hang", *options, expect=2)
        return reports[0], reports[0]["experiments"][0]["stall"], err

    def test_a_hang_shows_the_node_that_runs(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                report, stall, err = self.hang("hangs-in-the-middle", "--markers", way=way)
                # The other graph was launched later, and waits behind this one.
                self.assertEqual(report["snapshot"]["graphs"][stall["graph"]]["name"], "graph 2")
                self.assertEqual(stall["nodes"], ["done", "done", "running", "not reached"])
                self.assertEqual(stall["last_finished"], 1)
                self.assertEqual([node["name"] for node in stall["running"]], ["spin"])
                self.assertIn("A replay of graph 2 stands still", stall["evidence"])
                self.assertRegex(err, r"no progress for \d s. The program hangs in spin \(node 2\) of graph 2, captured at .*; "
                                      r"scale \(node 1\) of graph 2 ended last\.")
                self.assertIn("Its markers show 2 nodes finished, 1 running, 1 not reached", stall["evidence"])
                self.assertNotIn("graph 1 is under way", stall["evidence"])

    def test_updates_and_changed_nodes_reach_the_copy(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                _, stall, _ = self.hang("hangs-updated", "--markers", way=way)
                self.assertEqual(stall["nodes"], ["done", "done", "running", "not reached"])

    def test_an_update_may_have_its_branches_in_another_order(self):
        report, stall, _ = self.hang("hangs-updated-in-another-order", "--markers")
        # Its own order: the memset of the second stream comes first.
        self.assertEqual(stall["nodes"], ["done", "done", "running", "not reached"])
        self.assertEqual([node["name"] for node in stall["running"]], ["spin"])

    def test_without_the_option_the_node_is_not_known(self):
        _, stall, _ = self.hang("hangs-in-the-middle")
        self.assertEqual(stall["nodes"], [])
        self.assertIn("Launches before it may still run. ", stall["evidence"])
        self.assertIn("--markers (Mark nodes) shows which graph hangs, and in which node.", stall["evidence"])

    def test_a_graph_that_cannot_be_copied_runs_as_it_is(self):
        for scenario in ["memory-nodes", "branch"]:
            with self.subTest(scenario=scenario):
                self.setUp()
                _, err = self.attach(command(scenario), "--markers", expect=0)
                self.assertNotIn("with markers", err)
        self.setUp()
        _, stall, _ = self.hang("hangs-with-memory-nodes", "--markers")
        self.assertEqual(stall["nodes"], [])
        self.assertIn("It has no markers, so which node runs is not known: CUDA copies no graph with memory nodes",
                      stall["evidence"])

    def test_a_replay_that_ended_is_not_where_it_hangs(self):
        report, stall, _ = self.hang("hangs-after-a-long-replay", "--markers")
        self.assertEqual(report["snapshot"]["graphs"][stall["graph"]]["name"], "graph 2")
        self.assertEqual(stall["nodes"], [])
        self.assertNotIn("graph 1 is under way", stall["evidence"])

    def test_programs_run_as_without_markers(self):
        marked = {"healthy": 1, "updated": 1, "update-refused": 2, "node-changed": 1, "many-threads": 1, "full-order": 1,
                  "early-start-waited": 1, "seed-updated": 1, "context-reset": 2, "many-instantiations": 20001,
                  "many-threads-instantiate": 2001, "fork-joined": 1}
        for scenario, graphs in marked.items():
            for way in WAYS:
                with self.subTest(scenario=scenario, way=way):
                    self.setUp()
                    reports, err = self.attach(command(scenario, way), "--markers", expect=0)
                    self.assertIn("ended with exit code 0", err)
                    self.assertIn(f"({graphs} with markers)", err)
                    self.assertEqual([one for report in reports for one in report["findings"]], [])

    def test_findings_name_the_programs_nodes(self):
        reports, _ = self.attach(command("freed"), "--markers", expect=1)
        finding, = reports[0]["findings"]
        self.assertEqual(finding["rule"], "freed-memory")
        self.assertEqual(finding["nodes"], [[0, 0], [0, 1], [0, 2]])
        self.assertEqual([one["place"] for one in finding["accesses"]],
                         ["memset target", "parameter byte 0", "parameter byte 8"])


if __name__ == "__main__":
    unittest.main()
