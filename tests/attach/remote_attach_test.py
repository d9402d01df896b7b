"""`expertscope attach --remote HOST`: a program on another machine (a real sshd), with a driver that computes nothing.
What it prints comes here as it is printed, and its record grows here.

Arguments: expertscope, the folder with the stub and the programs, tests/support."""

import json
import os
import pathlib
import pwd
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, sys.argv.pop(1))
from ssh_server import HOST, SshServer, why_not  # noqa: E402

COULD_NOT_RUN = 3
LOGIN = pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir)  # where sshd starts commands, whatever HOME is
# The words as they arrive.
SAY_WORDS = "import sys, json; print(json.dumps(sys.argv[1:]))"


def subject(scenario):
    return ["env", f"LD_LIBRARY_PATH={FOLDER}", str(FOLDER / "attached_subject"), "getproc", scenario]


@unittest.skipIf(why_not(), why_not())
class RemoteAttach(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = cls.enterClassContext(SshServer(programs={"queue": 'echo "waits in a queue" >&2; shift; exec "$@"\n'}))
        # As on machines whose profiles set what programs need, and talk.
        (cls.server.home / ".profile").write_text(
            "echo welcome; read -r swallowed; export FROM_PROFILE=yes; export LD_LIBRARY_PATH=/of/profile\n")

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.folder = pathlib.Path(folder)
        if self.server._server is None:  # cut by another test
            self.server.start()
        self.before = self.records_there()

    def command(self, arguments, *options):
        return [PROGRAM, "attach", "--remote", HOST, "--folder", self.folder, *options, "--", *arguments]

    def environment(self):
        return {**os.environ, **self.server.client()}

    def attach(self, arguments, *options, expect=0):
        done = subprocess.run(self.command(arguments, *options), capture_output=True, text=True, timeout=120,
                              env=self.environment(), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return done

    def begin(self, arguments, *options):
        started = subprocess.Popen(self.command(arguments, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.environment(), stdin=subprocess.DEVNULL)
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        return started

    def wait_for(self, stream, text):
        line = stream.readline()
        seen = line
        while text not in line and line:
            line = stream.readline()
            seen += line
        self.assertIn(text, line, seen)

    def records_there(self):
        there = self.server.cache / "attach"
        return set(there.iterdir()) if there.exists() else set()

    def left_there(self):
        return self.records_there() - self.before

    def test_findings_are_those_of_a_program_here(self):
        done = self.attach(subject("freed"), "--json", expect=1)
        report, = json.loads(done.stdout)
        self.assertEqual([one["rule"] for one in report["findings"]], ["freed-memory"])
        self.assertIn("launched 3 times", " ".join(report["findings"][0]["evidence"]))
        self.assertIn("its record is in " + str(self.folder), done.stderr)
        spool, = self.folder.iterdir()
        self.assertEqual(spool.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.left_there(), set())
        again = subprocess.run([PROGRAM, "attach", "--read", self.folder, "--json"], capture_output=True, text=True,
                               timeout=60)
        self.assertEqual(json.loads(again.stdout)[0]["findings"], report["findings"])
        self.setUp()
        self.assertEqual(json.loads(self.attach(subject("healthy"), "--json").stdout)[0]["findings"], [])

    def test_two_processes(self):
        done = self.attach(subject("forked"), "--json", expect=1)
        self.assertEqual([len(report["findings"]) for report in json.loads(done.stdout)], [0, 1])
        self.assertEqual(len(list(self.folder.iterdir())), 2)

    def test_words_arrive_as_they_are(self):
        words = ["two  words", "", "it's", '"quoted"', "[a,b]", "[]", "$HOME `id` !x \\ *", "--remote", "--", "line\nbreak",
                 "ümlaut", "-c"]
        done = self.attach(["python3", "-c", SAY_WORDS, *words])
        self.assertEqual(json.loads(done.stdout.splitlines()[0]), words)

    def test_output_status_and_environment_are_the_programs_own(self):
        script = "import os, sys; print(os.getcwd()); print(os.environ['FROM_PROFILE'], os.environ['LD_LIBRARY_PATH']); " \
            "print(sys.stdin.read() == ''); print('oops', file=sys.stderr); sys.exit(7)"
        done = self.attach(["python3", "-c", script])
        lines = done.stdout.splitlines()
        self.assertEqual(lines[:3], [str(LOGIN), "yes /of/profile", "True"])
        self.assertIn("No process captured a CUDA graph", done.stdout)
        self.assertIn("welcome\n", done.stderr)
        self.assertIn("oops\n", done.stderr)
        self.assertIn("ended with exit code 7", done.stderr)
        elsewhere = self.server.home / "a folder"
        elsewhere.mkdir(exist_ok=True)
        self.assertEqual(self.attach(["pwd"], "--working-folder", os.path.relpath(elsewhere, LOGIN)).stdout.splitlines()[0], str(elsewhere))
        self.assertIn("working folder /gone does not exist",
                      self.attach(["pwd"], "--working-folder", "/gone", expect=COULD_NOT_RUN).stderr)

    def test_much_output_arrives_whole(self):
        script = "import sys\nfor i in range(300000): print(i)\nsys.stdout.flush()"
        done = self.attach(["python3", "-c", script])
        self.assertEqual(done.stdout.split("No process")[0].split(), [str(i) for i in range(300000)])

    def test_a_launcher_starts_it(self):
        done = self.attach(["sh", "-c", "echo $FROM_PROFILE"], "--launcher", str(self.server.root / "there/queue"), "--launcher",
                           "--gpus=1", "--remote-gpu", "0")
        self.assertEqual(done.stdout.splitlines()[0], "yes")
        self.assertIn("waits in a queue\n", done.stderr)

    def test_what_cannot_be_started_is_said(self):
        said = self.attach(["no-such-program"], expect=COULD_NOT_RUN).stderr
        self.assertIn(f"on {HOST}: 'no-such-program' cannot be started: No such file or directory", said)
        self.assertIn("leave --remote out", self.attach([], "--read", self.folder, expect=COULD_NOT_RUN).stderr)

    def test_findings_come_while_it_runs_and_ctrl_c_ends_it(self):
        started = self.begin(subject("endless"))
        self.wait_for(started.stdout, "ready")
        self.wait_for(started.stderr, "is freed")
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=60)
        self.assertEqual(started.returncode, 1, err)
        self.assertIn("was killed by signal 2 (Interrupt)", err)
        self.assertEqual(self.left_there(), set())

    def test_a_hang_is_found_there(self):
        done = self.attach(subject("hangs"), "--hang-after", "1", "--end-on-hang", "--json", expect=2)
        report, = json.loads(done.stdout)
        evidence = report["experiments"][0]["stall"]["evidence"]
        self.assertIn("cudaStreamSynchronize", evidence)
        self.assertIn("NVML", evidence)

    def test_a_lost_connection_is_said_and_what_arrived_is_kept(self):
        started = self.begin(subject("endless"))
        self.wait_for(started.stderr, "is freed")
        self.server.cut()
        out, err = started.communicate(timeout=60)
        self.assertEqual(started.returncode, COULD_NOT_RUN, err)
        self.assertIn(f"the connection to {HOST} was lost", err)
        self.assertIn("what had arrived of it is examined and kept in " + str(self.folder), err)
        self.assertIn("freed-memory", subprocess.run([PROGRAM, "attach", "--read", self.folder, "--json"],
                                                     capture_output=True, text=True, timeout=60).stdout)

    def test_a_program_of_which_nobody_hears_any_more_is_hung_up(self):
        mark = self.server.home / "mark"
        script = f"trap 'echo hung up >{mark}; exit' HUP; echo ready; while :; do sleep 0.05; done"
        started = self.begin(["sh", "-c", script])
        self.wait_for(started.stdout, "ready")
        started.kill()
        started.wait()
        limit = time.monotonic() + 20
        while not mark.exists() and time.monotonic() < limit:
            time.sleep(0.05)
        self.assertEqual(mark.read_text(), "hung up\n")

    def test_the_bundle_of_a_running_program_is_in_use(self):
        started = self.begin(["sh", "-c", "echo ready; sleep 60"])
        self.wait_for(started.stdout, "ready")
        found = subprocess.run([PROGRAM, "connect", HOST, "--json"], capture_output=True, text=True, timeout=120,
                               env=self.environment())
        look = next(step for step in json.loads(found.stdout)["steps"] if step["step"] == "look")
        self.assertIn("running", look["words"])


if __name__ == "__main__":
    unittest.main()
