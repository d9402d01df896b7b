"""`expertscope attach` on programs that know nothing of it, with a driver that computes nothing (stub_driver.cpp):
every mistake is found, its healthy twin is clean, and the programs do not notice.

Arguments: expertscope, the folder with the stub and the programs."""

import json
import os
import pathlib
import shlex
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from attached_programs import FOLDER, PROGRAM, WAYS, AttachCase, command, environment


def frames(spool):
    """Kind and payload of all frames of a file, in order (profiling/attach/spool/frames.h)."""
    content = spool.read_bytes()
    at, = struct.unpack_from("<I", content, 12)
    end, = struct.unpack_from("<Q", content, 40)
    found = []
    while at < end:
        _, length, kind = struct.unpack_from("<IIH", content, at)
        found.append((kind, content[at + 32:at + length]))
        at += length
    return found


def frame_kinds(spool):
    return [kind for kind, _ in frames(spool)]


class Attach(AttachCase):
    def test_finds_each_mistake_however_the_program_reaches_the_driver(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                found = self.findings("freed", way)
                self.assertEqual([one["rule"] for one in found], ["freed-memory"])
                self.assertEqual(found[0]["confidence"], "likely")
                self.assertIn("launched 3 times", " ".join(found[0]["evidence"]))
                self.assertEqual(len(found[0]["nodes"]), 3)

    def test_each_mistake_is_found_by_its_rule(self):
        rules = {"pool-alias": "pool-alias", "unloaded": "unloaded-module", "other-thread": "other-thread-in-capture",
                 "waits": "sync-in-capture", "host-source-freed": "dead-host-source", "fork-not-joined": "unjoined-capture"}
        for scenario, rule in rules.items():
            with self.subTest(scenario=scenario):
                self.setUp()
                self.assertEqual([one["rule"] for one in self.findings(scenario)], [rule])

    def test_healthy_twins_are_clean(self):
        for scenario in ["healthy", "freed-at-the-end", "unloaded-after-destroy", "other-thread-local", "updated",
                         "node-changed", "many-threads", "host-source-kept", "fork-joined", "full-order",
                         "early-start-apart", "pool-for-each", "private-pool-unused", "private-pool-shared"]:
            with self.subTest(scenario=scenario):
                self.setUp()
                self.assertEqual(self.findings(scenario, expect=0), [])

    def test_memory_that_ends_with_one_graph_under_another(self):
        first_used = r'^"cudaMallocAsync 3" \(4 KiB\), first used by "graph 1", went after it at \d+, but node 0 \(memset\) '
        made_in = r'^"cudaMalloc 3" \(1 MiB\), made in the capture of "graph 1", went with it at \d+, but node 0 \(scale\) '
        given_away = r'^"tensor \d" \(cached, 4 KiB\), made in the capture of "graph 1", went with it at \d+, but node 0 '
        for way, scenario, title in [*((way, "pool-evicted", first_used) for way in WAYS), ("getproc", "pool-trimmed", first_used),
                                     *((way, "private-pool-evicted", made_in) for way in WAYS),
                                     ("getproc", "private-pool-given-away", given_away)]:
            with self.subTest(way=way, scenario=scenario):
                self.setUp()
                finding, = self.findings(scenario, way)
                self.assertEqual((finding["rule"], finding["confidence"]), ("freed-memory", "likely"))
                self.assertRegex(finding["title"], title)
                self.assertRegex(finding["title"], r'of graph "graph 2" holds? its address$')
                self.assertRegex(" ".join(finding["evidence"]), r'"graph 1", .* was captured from \d+ to \d+ and destroyed at \d+\.')
        self.assertRegex(" ".join(finding["evidence"]), r'the memory belongs to "tensor \d" \(cached, 4 KiB\) now')

    def test_tensors_of_captures_are_recorded_up_to_a_number(self):
        self.findings("tensor-kept", expect=0)
        spool, = pathlib.Path(self.folder.name).iterdir()
        kinds = frame_kinds(spool)
        # The input and the one that the capture makes, and who got the input's memory at the end.
        self.assertEqual((kinds.count(26), kinds.count(27)), (3, 2))
        self.setUp()
        self.assertEqual(self.findings("many-captured-tensors", expect=0), [])
        spool, = pathlib.Path(self.folder.name).iterdir()
        kinds = frame_kinds(spool)
        self.assertEqual((kinds.count(26), kinds.count(27)), (1 << 14, 1 << 14))

    def test_a_kernel_that_may_start_before_its_input_is_ready(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                finding, = self.findings("early-start", way, expect=0)
                # Nothing tells whether the kernel waits itself.
                self.assertEqual((finding["rule"], finding["confidence"]), ("programmatic-without-wait", "possible"))
                self.assertEqual(finding["nodes"], [[0, 0], [0, 1]])
                # Here its machine code was seen.
                self.setUp()
                finding, = self.findings("early-start-unwaited", way)
                self.assertEqual((finding["rule"], finding["confidence"]), ("programmatic-without-wait", "likely"))
                self.assertIn("The consumer does not wait for such an edge.", finding["evidence"])
                self.setUp()
                self.assertEqual(self.findings("early-start-waited", way, expect=0), [])

    def known(self, scenario, way="getproc", **more):
        """What the report says about versions of libraries; there are no findings."""
        self.setUp()
        reports, _ = self.attach(command(scenario, way), expect=0, **more)
        self.assertEqual(reports[0]["findings"], [])
        return reports[0]["known"]

    def test_faults_of_library_versions_are_shown_where_the_graphs_can_have_them(self):
        known, = self.known("comm-after-destroy", STUB_NCCL_VERSION="22809")
        self.assertRegex(known, "^NCCL 2.28.9 is loaded. Replays with collectives between machines deadlocked ")
        self.assertEqual(self.known("comm-after-destroy", STUB_NCCL_VERSION="23004"), [])
        self.assertEqual(self.known("healthy", "linked", STUB_NCCL_VERSION="22809"), [])  # no collectives
        bodies, modules = sorted(self.known("branch", STUB_CUDA_VERSION="12020"))
        self.assertRegex(bodies, "^CUDA driver 12.2 is loaded. A conditional node with an empty body hangs")
        self.assertRegex(modules, "^CUDA driver 12.2 is loaded. Loading a module during a capture is refused")
        self.assertEqual(len(self.known("healthy", STUB_CUDA_VERSION="12020")), 1)  # no conditional nodes
        self.assertEqual(self.known("branch", STUB_CUDA_VERSION="12080"), [])
        for version, facts in (("0.6.15", 1), ("0.6.19", 0)):
            with tempfile.TemporaryDirectory() as cache:
                library = pathlib.Path(cache) / "flashinfer" / version / "bmm_fp8.so"
                library.parent.mkdir(parents=True)
                library.write_bytes((FOLDER / "libc10.so").read_bytes())
                self.assertEqual(len(self.known("with-library", SUBJECT_LIBRARY=str(library))), facts)

    def test_grouped_products_share_a_workspace_of_a_version_that_corrupts_it(self):
        library = {"SUBJECT_LIBRARY": str(FOLDER / "libcublasLt.so.13")}
        reports, _ = self.attach(command("workspace-shared"), expect=1, STUB_CUBLASLT_VERSION="130501", **library)
        finding, = reports[0]["findings"]
        self.assertEqual((finding["rule"], finding["confidence"]), ("shared-workspace", "likely"))
        self.assertEqual(finding["nodes"], [[0, 1], [0, 3]])
        self.assertIn("cuBLASLt 13.5.1 is loaded", " ".join(finding["evidence"]))
        self.assertEqual(self.known("workspace-shared", STUB_CUBLASLT_VERSION="131000", **library), [])
        self.assertEqual(self.known("workspace-for-each", STUB_CUBLASLT_VERSION="130501", **library), [])

    def test_the_memory_of_a_tensor_goes_to_another_one(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                finding, = self.findings("tensor-of-another", way, expect=1)
                self.assertEqual((finding["rule"], finding["confidence"]), ("freed-memory", "likely"))
                self.assertRegex(finding["title"], r'^"tensor \d+" \(cached, 4 KiB\) is freed, but node 0 \(scale\) holds')
        spool, = pathlib.Path(self.folder.name).iterdir()
        kinds = frame_kinds(spool)  # of 2,001 tensors: those that matter
        self.assertEqual((kinds.count(26), kinds.count(27)), (2, 2))  # Kind::TensorBlock, Kind::TensorBlockReleased
        # The one lived before the capture began, the other is its memory's next owner.
        self.assertEqual([struct.unpack_from("<QQII", payload)[2:] for kind, payload in frames(spool) if kind == 26],
                         [(0, 1), (0, 0)])
        self.setUp()
        finding, = self.findings("tensor-trimmed", expect=1)
        self.assertEqual((finding["rule"], finding["confidence"]), ("freed-memory", "likely"))
        # Nobody else has it yet, so the replays are still right.
        self.setUp()
        finding, = self.findings("tensor-freed", expect=0)
        self.assertEqual((finding["rule"], finding["confidence"]), ("freed-memory", "possible"))
        self.setUp()
        self.assertEqual(self.findings("tensor-kept", expect=0), [])

    def test_who_freed_a_tensor_is_known(self):
        script = str(pathlib.Path(__file__).with_name("python_subject.py"))
        reports, _ = self.attach([sys.executable, script, "free", "tensor"], expect=1)
        finding, = reports[0]["findings"]
        self.assertRegex("\n".join(finding["evidence"]),
                         r"Freed by python_subject.py:\d+ report, called by python_subject.py:\d+ forget, called by ")

    def test_a_value_that_changed_until_it_was_captured(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                finding, = self.findings("frozen-seed", way, expect=0)
                self.assertEqual((finding["rule"], finding["confidence"]), ("frozen-value", "possible"))
                self.assertIn("(dropout) uses 44 as parameter 3 (argument byte 24)", finding["title"])
                self.assertIn("had 41, 42, 43.", finding["evidence"][0])
        self.setUp()
        finding, = self.findings("frozen-split-count", expect=0)
        self.assertIn("(attend) uses 3 as parameter 2 (argument byte 16)", finding["title"])
        self.assertIn("had 1, 2, 3.", finding["evidence"][0])
        for scenario in ["seed-in-memory", "seed-updated", "captured-for-each-seed", "constants-of-places"]:
            with self.subTest(scenario=scenario):
                self.setUp()
                self.assertEqual(self.findings(scenario, expect=0), [])

    def test_memory_nodes_and_the_bodies_of_conditional_nodes(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.setUp()
                finding, = self.findings("used-after-free-node", way)
                self.assertEqual((finding["rule"], finding["confidence"]), ("used-after-free-node", "likely"))
                self.assertEqual(finding["nodes"], [[0, 2], [0, 3]])
                self.setUp()
                finding, = self.findings("freed-under-a-body", way)
                self.assertEqual((finding["rule"], finding["confidence"]), ("freed-memory", "likely"))
                self.assertEqual(finding["nodes"], [[0, 2], [0, 3]])  # the memsets of both bodies
        for scenario in ["memory-nodes", "branch"]:
            with self.subTest(scenario=scenario):
                self.setUp()
                self.assertEqual(self.findings(scenario, expect=0), [])

    def test_launches_are_recorded_only_for_captured_kernels(self):
        self.findings("frozen-split-count", expect=0)
        spool, = pathlib.Path(self.folder.name).iterdir()
        self.assertEqual(frame_kinds(spool).count(24), 3)  # Kind::EagerLaunch: six launches, three different
        self.setUp()
        self.findings("constants-of-places", expect=0)
        spool, = pathlib.Path(self.folder.name).iterdir()
        self.assertEqual(frame_kinds(spool).count(24), 10)

    def test_a_communicator_destroyed_under_a_graph(self):
        for way, scenario in [("linked", "comm-destroyed"), ("getproc", "comm-destroyed"), ("getproc", "comm-of-extension"),
                              ("linked", "comm-of-extension")]:
            with self.subTest(way=way, scenario=scenario):
                self.setUp()
                finding, = self.findings(scenario, way)
                self.assertEqual((finding["rule"], finding["confidence"]), ("destroyed-communicator", "likely"))
                self.assertIn("launched after ncclCommFinalize of communicator 1 (rank 1 of 2)", finding["title"])
                self.assertIn("launched 3 times", " ".join(finding["evidence"]))
                self.assertIn("NCCL 2.27.5 is loaded", " ".join(finding["evidence"]))
                self.assertEqual(finding["nodes"], [[0, 0], [0, 2]])  # the collectives, not the kernel between them
        for way, scenario in [("getproc", "comm-inside-extension"), ("linked", "comm-inside-extension"),
                              ("getproc", "comm-jumped-to")]:
            with self.subTest(way=way, scenario=scenario):
                self.setUp()
                finding, = self.findings(scenario, way)
                self.assertEqual((finding["rule"], finding["confidence"]), ("destroyed-communicator", "likely"))
        self.setUp()
        finding, = self.findings("comm-aborted")  # the graph of the other communicator is clean
        self.assertIn('"graph 1" was launched after ncclCommAbort of communicator 2', finding["title"])

    def test_one_record_for_each_communicator_and_capture(self):
        spools = {}
        for scenario in ["comm-after-destroy", "healthy"]:
            self.setUp()
            self.findings(scenario, expect=0)
            spool, = pathlib.Path(self.folder.name).iterdir()
            spools[scenario] = frame_kinds(spool)
        captured, ended = 22, 23  # Kind::CommunicatorCaptured, Kind::CommunicatorEnded
        self.assertEqual(spools["comm-after-destroy"].count(captured), 4)  # eight captured collectives
        self.assertEqual(spools["comm-after-destroy"].count(ended), 4)
        self.assertNotIn(captured, spools["healthy"])

    def test_healthy_communicators_are_clean(self):
        for scenario in ["comm-after-destroy", "comm-destroyed-at-the-end", "two-nccls"]:
            for way in ["linked", "getproc"]:
                with self.subTest(scenario=scenario, way=way):
                    self.setUp()
                    self.assertEqual(self.findings(scenario, way, expect=0), [])

    def test_the_end_of_a_communicator_that_waits_for_a_graph(self):
        reports, err = self.attach(command("comm-destroyed-at-the-end"), "--hang-after", "1", "--end-on-hang", expect=2,
                                   STUB_NCCL_WAITS="1")
        self.assertIn("a call of NCCL that ends a communicator", reports[0]["experiments"][0]["stall"]["evidence"])
        finding, = reports[0]["findings"]
        self.assertEqual((finding["rule"], finding["confidence"]), ("destroyed-communicator", "possible"))
        self.assertIn("no progress for", err)

    def test_names_the_thread_that_broke_the_capture(self):
        found = self.findings("other-thread")
        self.assertIn('"data loader"', found[0]["title"])
        self.assertIn("cuMemAlloc", found[0]["title"])

    def test_a_forked_child_has_its_own_record(self):
        reports, _ = self.attach(command("forked"), expect=1)
        self.assertEqual([len(report["findings"]) for report in reports], [0, 1])
        self.assertEqual(reports[1]["snapshot"]["graphs"][0]["name"], "graph 1")  # its own first one

    def test_arguments_and_edges_are_read(self):
        reports, _ = self.attach(command("freed"), expect=1)
        snapshot = reports[0]["snapshot"]
        graph, = snapshot["graphs"]
        self.assertEqual((graph["nodes"], graph["edges"], graph["launches"]), (3, 2, 3))
        self.assertEqual(snapshot["device"], "Stub device")
        finding, = reports[0]["findings"]
        # The memset's target, the first kernel's first parameter and the second's second one.
        self.assertEqual([one["place"] for one in finding["accesses"]],
                         ["memset target", "parameter byte 0", "parameter byte 8"])
        self.assertIn("attached_subject", finding["captured_at"][1])  # compiled code

    def test_nodes_know_who_captured_them(self):
        script = str(pathlib.Path(__file__).with_name("python_subject.py"))
        for lock in ("held", "free"):  # PyTorch launches kernels without the interpreter's lock
            with self.subTest(lock=lock):
                self.setUp()
                reports, _ = self.attach([sys.executable, script, lock], expect=1)
                self.assertIn("python_subject.py (process", reports[0]["snapshot"]["subject"])
                finding, = reports[0]["findings"]
                places = finding["captured_at"]
                lines = pathlib.Path(script).read_text().splitlines()
                first = 1 + next(at for at, line in enumerate(lines) if "cuMemsetD8Async" in line)
                self.assertRegex(places[0],
                                 rf"^python_subject.py:{first} clear, called by python_subject.py:\d+ step, called by ")
                self.assertEqual(len(set(places)), 2)  # two lines of step()

    def test_only_and_rank_choose_processes(self):
        reports, _ = self.attach(command("freed"), "--only", "another.py", expect=0)
        self.assertEqual(reports, [])
        self.assertEqual(os.listdir(self.folder.name), [])
        reports, _ = self.attach(command("freed"), "--only", "attached_subject", "--rank", "3", expect=1, RANK="3")
        self.assertIn("rank 3", reports[0]["snapshot"]["subject"])
        reports, _ = self.attach(command("freed"), "--rank", "3", expect=1, RANK="2")  # the earlier one is in the folder
        self.assertEqual(len(os.listdir(self.folder.name)), 1)

    def test_ranks_are_compared_and_equal_reports_come_once(self):
        subject = " ".join(command("freed"))
        ranks = f"for r in $(seq 0 15); do RANK=$r {subject} & done; wait"
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--", "sh", "-c", ranks],
                              capture_output=True, text=True, timeout=60, env=environment())
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("16 ranks captured the same graphs, and launched each equally often", done.stderr)
        self.assertEqual(done.stdout.count("freed-memory"), 1)
        self.assertIn("The same was found in 15 other processes: attached_subject (process ", done.stdout)
        self.setUp()
        ranks += f"; RANK=16 {' '.join(command('healthy'))}"
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--", "sh", "-c", ranks],
                              capture_output=True, text=True, timeout=60, env=environment())
        self.assertRegex(done.stderr, "by ranks 0-15, .* by rank 16|in ranks 0-15, .* in rank 16")

    def test_a_killed_program_leaves_all_that_it_had_recorded(self):
        attach = subprocess.Popen([PROGRAM, "attach", "--json", "--folder", self.folder.name, "--", *command("endless")],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(attach.kill)
        ready = attach.stderr.readline()
        while "ready" not in ready and ready:
            ready = attach.stderr.readline()
        deadline = time.monotonic() + 20
        line = attach.stderr.readline()
        while "is freed" not in line and line and time.monotonic() < deadline:
            line = attach.stderr.readline()
        self.assertIn("is freed", line)  # while it runs
        spool, = os.listdir(self.folder.name)
        os.kill(int(spool.split("-")[0]), signal.SIGKILL)
        out, err = attach.communicate(timeout=60)
        self.assertIn("killed by signal 9", err)
        report, = json.loads(out)
        self.assertEqual([one["rule"] for one in report["findings"]], ["freed-memory"])

    def test_a_hang_is_found_and_the_program_ended_if_asked(self):
        reports, err = self.attach(command("hangs"), "--hang-after", "1", "--end-on-hang", expect=2)
        stall = reports[0]["experiments"][0]["stall"]
        self.assertEqual(reports[0]["snapshot"]["graphs"][stall["graph"]]["name"], "graph 2")
        self.assertIn("cudaStreamSynchronize", stall["evidence"])
        self.assertIn("The last launch on the stream that is waited for is launch 1 of graph 2.", stall["evidence"])
        self.assertIn("--markers (Mark nodes) shows", stall["evidence"])
        self.assertEqual(stall["replay"], 0)
        # Who reads the record later learns of the hang too.
        done = subprocess.run([PROGRAM, "attach", "--read", self.folder.name, "--json"], capture_output=True, text=True,
                              timeout=60, env=environment())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("The program hangs.", json.loads(done.stdout)[0]["conclusion"])
        modes = {pathlib.Path(file).suffix: stat.S_IMODE(os.stat(pathlib.Path(self.folder.name, file)).st_mode)
                 for file in os.listdir(self.folder.name)}
        self.assertEqual(modes, {".spool": 0o600, ".hang": 0o600})
        self.assertGreaterEqual(stall["waited_seconds"], 1)
        self.assertIn("no progress for", err)
        self.assertIn("was killed by signal", err)

    def hang_evidence(self, scenario, way):
        self.setUp()
        reports, _ = self.attach(command(scenario, way), "--hang-after", "1", "--end-on-hang", expect=2)
        return reports[0]["experiments"][0]["stall"]["evidence"]

    def test_a_hang_tells_what_was_done_last_to_memory_and_graphs(self):
        for way in WAYS:
            with self.subTest(way=way):
                evidence = self.hang_evidence("hangs-without-its-memory", way)
                self.assertRegex(evidence, r'Newest releases of memory of graph 1: "cudaMalloc 3" \(1 MiB\), held by '
                                           r"memset \(node 0\), \d[\d.]* .?s before the wait\. ")
                self.assertRegex(evidence, r'Newest allocations of memory of graph 1: ".*cudaMalloc 3" \(1 MiB\), held by')
                self.assertIn("No updates are known. ", evidence)
                evidence = self.hang_evidence("hangs-updated", way)
                self.assertIn("No releases are known. ", evidence)
                # The node of the graph that was instantiated is no node of the one that updated it.
                self.assertRegex(evidence, r"Newest updates of graph 1: cudaGraphNodeSetEnabled \(on\), \d[\d.]* .?s before the "
                                           r"wait; cudaGraphExecKernelNodeSetParams, \d.* before the wait; "
                                           r"cudaGraphExecUpdate, \d")

    def test_calls_that_change_nodes_get_a_bounded_number_of_frames(self):
        evidence = self.hang_evidence("hangs-after-many-node-calls", "getproc")
        self.assertIn("Newest updates of graph 1: cudaGraphNodeSetEnabled (o", evidence)
        self.assertIn(self.node_calls(), [[16384 + seconds] for seconds in range(1, 20)])
        self.setUp()
        self.attach(command("node-calls-of-a-child"), expect=0)
        self.assertEqual(self.node_calls()[0], 10)
        self.assertEqual(len(self.node_calls()), 2)

    def node_calls(self):
        """How many of each process have a frame."""
        return sorted(frame_kinds(spool).count(33) for spool in pathlib.Path(self.folder.name).glob("*.spool"))  # Kind::NodeCall

    def test_a_tensor_that_lived_before_the_capture_is_no_new_allocation(self):
        evidence = self.hang_evidence("hangs-with-an-old-tensor", "getproc")
        self.assertIn("Newest allocations of memory of graph 1: \"cudaMalloc", evidence)
        self.assertNotIn('"tensor', evidence)

    def test_what_would_show_more_is_said_where_it_was_not_asked_for(self):
        evidence = self.hang_evidence("hangs", "getproc")
        self.assertIn("--markers (Mark nodes) shows", evidence)
        self.assertIn("--core-dump (Core dump when it hangs) shows", evidence)

    def test_the_usual_deadline_can_be_asked_for(self):
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--hang-after=0", "--", *command("healthy")],
                              capture_output=True, text=True, timeout=60, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_deadline_that_is_none_is_refused(self):
        for text in ["0.05", "-1", "soon", "1e9", "nan", "5 s"]:
            with self.subTest(text=text):
                done = subprocess.run([PROGRAM, "attach", f"--hang-after={text}", "--", "true"], capture_output=True,
                                      text=True, timeout=60)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f"'{text}' is no deadline of a hang: give 0.1 to 86400 seconds, or 0 for 20 times", done.stderr)

    def test_a_second_interrupt_ends_a_program_that_ignores_the_first(self):
        shell = ["sh", "-c", "trap '' INT; exec " + shlex.join(command("hangs"))]
        started = subprocess.Popen([PROGRAM, "attach", "--folder", self.folder.name, "--hang-after", "1", "--", *shell],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        err = ""
        for awaited in ["no progress for", "Ctrl+C again ends it"]:
            while awaited not in err:
                line = started.stderr.readline()
                self.assertTrue(line, err)
                err += line
            started.send_signal(signal.SIGINT)
        out, rest = started.communicate(timeout=60)
        self.assertEqual(started.returncode, 2, rest)
        self.assertIn("at the second Ctrl+C", rest)
        self.assertIn("The program hangs.", out)

    def test_processes_that_were_not_chosen_are_said(self):
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--only", "nobody", "--", *command("freed")],
                              capture_output=True, text=True, timeout=60, env=environment())
        self.assertIn("No process that used CUDA was chosen by --only nobody.", done.stdout)

    def test_a_hang_leaves_a_core_dump_of_the_device(self):
        tools = pathlib.Path(self.folder.name) / "tools"
        tools.mkdir()
        debugger = tools / "cuda-gdb"
        # Lines of cuda-gdb 13.0 for a core of an H200.
        debugger.write_text(f"""#!/bin/sh
case "$*" in *"target cudacore {self.folder.name}/"*".core"*) ;; *) exit 1 ;; esac
echo "[Current focus set to CUDA kernel 0, grid 9, cluster (0,0,0), block (5,0,0), thread (96,0,0), device 0, sm 14, warp 3, lane 0]"
echo "#0  0x00007fffd5257000 in spin<<<(132,1,1),(384,1,1)>>> (flag=0x0) at spin.cu:12"
""")
        debugger.chmod(0o700)
        path = f"{tools}:{os.environ['PATH']}"
        # The dump ends the kernel, and its error the program: at once, and the dump is complete nevertheless.
        reports, err = self.attach(command("hangs"), "--hang-after", "1", "--core-dump", expect=2, PATH=path)
        self.assertIn("ended with exit code 9", err)
        dump = reports[0]["experiments"][0]["stall"]["core_dump"]
        self.assertEqual(pathlib.Path(dump["path"]).read_text(), "where the kernels are")
        self.assertEqual(pathlib.Path(dump["path"]).parent, pathlib.Path(self.folder.name))
        self.assertEqual((dump["kernel"], dump["block"], dump["sm"]), ("spin", "(5,0,0)", 14))
        self.assertLess(err.index("no progress for"), err.index("ended with"))  # reported before the dump
        # A program that lost its environment has no trigger: said, and nothing is waited for.
        self.setUp()
        shell = ["/usr/bin/env", "-u", "CUDA_ENABLE_USER_TRIGGERED_COREDUMP", *command("hangs")]
        reports, _ = self.attach(shell, "--hang-after", "1", "--core-dump", "--end-on-hang", expect=2)
        stall = reports[0]["experiments"][0]["stall"]
        self.assertIsNone(stall["core_dump"])
        self.assertIn("no core dump: the driver's trigger", stall["evidence"])
        self.assertNotIn("--core-dump", stall["evidence"])

    def test_core_dumps_are_refused_where_they_cannot_be_taken(self):
        percent = pathlib.Path(self.folder.name) / "50%"
        percent.mkdir()
        for options, why in ((["--folder", str(percent), "--", "true"], "without '%'"),
                             (["--read", self.folder.name], "no effect with --read"),
                             (["--remote", "nowhere", "--", "true"], "no effect with --remote")):
            done = subprocess.run([PROGRAM, "attach", "--core-dump", *options], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 3)
            self.assertIn(why, done.stderr)

    def test_short_waits_are_no_hang(self):
        reports, _ = self.attach(command("many-threads"), "--hang-after", "5", expect=0)
        self.assertEqual(reports[0]["experiments"], [])

    def test_programs_without_cuda_are_left_alone(self):
        text = "import ctypes, json; print(json.dumps(len(ctypes.CDLL(None).dlsym.__name__)))"
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--", sys.executable, "-c", text],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("No process captured a CUDA graph, or used CUDA at all.", done.stdout)
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_full_spool_is_said_and_the_program_goes_on(self):
        reports, err = self.attach(command("many-frames"), "--spool-limit", "4", expect=0)
        self.assertIn("records are missing", err)
        done = subprocess.run([PROGRAM, "attach", "--folder", "/dev/null/none", "--", "true"], capture_output=True,
                              text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)

    def test_words_of_the_program_are_nobody_elses(self):
        words = ["", "[a,b]", "--json", "--", "it's  \"quoted\"", "-x"]
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--", sys.executable, "-c",
                               "import json, sys; print(json.dumps(sys.argv[1:]))", *words],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout.splitlines()[0]), words)

    def test_the_program_starts_in_its_working_folder(self):
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--working-folder", self.folder.name, "--", "pwd"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout.splitlines()[0], os.path.realpath(self.folder.name), done.stderr)

    def test_what_cannot_be_started_is_said(self):
        done = subprocess.run([PROGRAM, "attach", "--folder", self.folder.name, "--", "no-such-program"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 3)
        self.assertIn("'no-such-program' cannot be started", done.stderr)

    def test_records_can_be_examined_later_and_recorded(self):
        self.attach(command("freed"), expect=1)
        recording = pathlib.Path(self.folder.name) / "visit.session"
        done = subprocess.run([PROGRAM, "attach", "--read", self.folder.name, "--record", recording, "--report",
                               pathlib.Path(self.folder.name) / "report.md"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        again = subprocess.run([PROGRAM, "doctor", "--snapshot", recording, "--json"], capture_output=True, text=True,
                               timeout=60)
        self.assertEqual(again.returncode, 1, again.stderr)
        self.assertIn("freed-memory", again.stdout)


if __name__ == "__main__":
    unittest.main()
