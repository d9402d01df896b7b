"""expertscope-attach-agent by itself: what becomes of its program when nobody listens any more.

Arguments: the agent, a library that can be preloaded."""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest

AGENT, LIBRARY = (str(pathlib.Path(sys.argv.pop(1)).resolve()) for _ in range(2))
OUTPUT, ENDED = 3, 8  # app/attach/attach_stream.h
SCRIPT = "trap 'echo hung up >mark; exit' HUP; echo early; while [ ! -e go ]; do sleep 0.02; done; " \
    "echo late; echo oops >&2; echo done >mark"


class AttachAgent(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def start(self, *settings):
        agent = subprocess.Popen([AGENT, f"library={LIBRARY}", f"working_folder={self.folder}", *settings, "--", "sh", "-c",
                                  SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, "XDG_CACHE_HOME": str(self.folder)})
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        for pipe in (agent.stdin, agent.stdout, agent.stderr):
            self.addCleanup(pipe.close)
        said = b""
        while b"early\n" not in said:
            some = os.read(agent.stdout.fileno(), 65536)
            self.assertTrue(some, said)
            said += some
        return agent

    def mark(self):
        limit = time.monotonic() + 20
        while not (self.folder / "mark").exists() and time.monotonic() < limit:
            time.sleep(0.02)
        return (self.folder / "mark").read_text()

    def test_the_program_is_hung_up(self):
        agent = self.start()
        agent.stdin.close()
        self.assertEqual(self.mark(), "hung up\n")
        self.assertEqual(agent.wait(timeout=20), 0)

    def test_or_it_goes_on_and_what_it_prints_is_kept_there(self):
        for closes in ("stdin", "stdout"):
            with self.subTest(closes=closes):
                self.setUp()
                agent = self.start("goes_on=yes")
                getattr(agent, closes).close()
                time.sleep(0.5)
                self.assertIsNone(agent.poll())
                (self.folder / "go").touch()
                self.assertEqual(self.mark(), "done\n")
                self.assertEqual(agent.wait(timeout=20), 0)
                record, = (self.folder / "expertscope/attach").iterdir()
                self.assertEqual(record.stat().st_mode & 0o777, 0o700)
                self.assertEqual((record / "output.txt").read_text(), "late\noops\n")

    def test_what_it_printed_last_arrives_over_a_connection_that_is_behind(self):
        # A little more than the agent and the pipe from it keep: the rest is in a pipe when the program ends. Random
        # bytes are not compressed.
        script = f"head -c 4310000 /dev/urandom | tee {self.folder}/printed; touch {self.folder}/mark"
        agent = subprocess.Popen([AGENT, f"library={LIBRARY}", "--", "sh", "-c", script], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, env={**os.environ, "XDG_CACHE_HOME": str(self.folder)})
        self.addCleanup(agent.wait)
        self.addCleanup(agent.kill)
        # How much they keep depends on how it arrives: as little is read as lets the program end.
        early, end = b"", time.monotonic() + 20
        while not (self.folder / "mark").exists() and time.monotonic() < end:
            time.sleep(0.5)
            if not (self.folder / "mark").exists():
                early += os.read(agent.stdout.fileno(), 65536)
        self.mark()
        time.sleep(0.5)

        def read(count):
            nonlocal early
            some, early = early[:count], early[count:]
            return some + agent.stdout.read(count - len(some))
        kinds, output = [], b""
        while not kinds or kinds[-1] != ENDED:
            magic, kind, length, packed = struct.unpack("<4sIII", read(16))
            self.assertEqual(magic, b"XSA1")
            body = read(packed)
            if kind == OUTPUT:
                self.assertEqual(packed, length)
                output += body
            kinds.append(kind)
        self.assertEqual(output, (self.folder / "printed").read_bytes())
        agent.stdin.write(b"f")
        agent.stdin.close()
        self.assertEqual(agent.wait(timeout=20), 0)
        agent.stdout.close()
        self.assertEqual(list((self.folder / "expertscope/attach").iterdir()), [])

    def test_it_is_not_started_by_hand(self):
        done = subprocess.run([AGENT], capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not meant to be run by hand", done.stderr)


if __name__ == "__main__":
    unittest.main()
