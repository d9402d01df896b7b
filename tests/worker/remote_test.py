"""--remote and `connect` against a real sshd: what is sent, what is refused, what is asked."""

import fcntl
import hashlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import termios
import time
import unittest

import numpy as np

sys.path.insert(0, sys.argv.pop(2))
from archives import unpack  # noqa: E402
from command_line import CPU, PROGRAM, SMALL, CommandLine, call, on_terminal  # noqa: E402
from ssh_server import HOST, SshServer, free_port, why_not  # noqa: E402

WORKER_FAILURE = 2
# Takes a minute or more.
LONG = ["--num_experts", 8, "--tokens", 4096, "--n", 1024, "--k", 1024, "--iterations", 100]


class Remote(CommandLine):
    def server(self, **how):
        server = self.enterContext(SshServer(**how))
        self.env = server.client()
        return server

    def connect(self, *more):
        document = json.loads(self.ok("connect", HOST, *more, "--json", env=self.env))
        return document, {step["step"]: step for step in document["steps"]}

    def test_the_worker_is_sent_once_and_runs_there(self):
        server = self.server()
        document, steps = self.connect()
        self.assertEqual([step["state"] for step in document["steps"]], ["ok", "ok", "ok", "skipped", "ok"])
        self.assertIn("Sent the worker", steps["worker"]["words"])
        self.assertEqual(document["machine"]["cache"], str(server.cache))
        self.assertEqual(len(server.bundles()), 1)
        sent = server.bundles()[0]
        self.assertTrue((sent / "bin/expertscope-worker").exists())
        self.assertIn("no worker yet", steps["look"]["words"])
        again = self.connect()[1]
        self.assertIn("worker: the same build", again["look"]["words"])
        self.assertIn("already there, unchanged", again["worker"]["words"])
        out = json.loads(self.ok("run", "--remote", HOST, *CPU, *SMALL, "--json", env=self.env))
        self.assertEqual(len(out["result"]["iterations"]), 2)
        self.assertEqual(server.leftovers(), [])

    def test_the_worker_that_runs_is_the_one_that_was_sent(self):
        server = self.server()
        self.connect()
        process = subprocess.Popen(
            [PROGRAM, "run", "--remote", HOST, *CPU, *map(str, LONG)],
            env={**os.environ, **self.env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        program = str(server.bundles()[0] / "bin/expertscope-worker")
        limit = time.monotonic() + 30
        maps = ""
        while time.monotonic() < limit and "libopenblas" not in maps:
            for one in pathlib.Path("/proc").glob("[0-9]*/exe"):
                try:
                    if os.readlink(one) == program:
                        maps = (one.parent / "maps").read_text()
                except OSError:
                    pass
            time.sleep(0.05)
        # Its libraries are those of the bundle, not this machine's.
        self.assertIn(str(server.bundles()[0] / "lib/expertscope/libopenblas"), maps)
        self.assertIn(str(server.bundles()[0] / "lib/expertscope/libprotobuf"), maps)

    def test_a_bundle_that_was_changed_there_is_sent_again(self):
        server = self.server()
        self.connect()
        worker = server.bundles()[0] / "bin/expertscope-worker"
        whole = worker.read_bytes()
        worker.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        self.assertIn("Sent the worker", self.connect()[1]["worker"]["words"])
        self.assertEqual(worker.read_bytes(), whole)

    def test_a_bundle_that_was_changed_on_its_way_is_refused(self):
        server = self.server()
        here = pathlib.Path(self.path("cache"))
        env = {**self.env, "XDG_CACHE_HOME": str(here)}
        bundle = pathlib.Path(self.ok("bundle", env=env).strip())
        self.assertEqual(bundle.parent.parent.parent, here)
        unpacked = pathlib.Path(self.path("unpacked"))
        with tarfile.open(bundle) as archive:
            unpack(archive, unpacked)
        with open(unpacked / "bin/expertscope-guard", "ab") as guard:
            guard.write(b"more")
        subprocess.run(["tar", "-czf", bundle, "-C", unpacked, "."], check=True)
        said = self.refused(WORKER_FAILURE, "connect", HOST, env=env)
        self.assertIn("what arrived is not what was sent", said)
        self.assertEqual(list(server.cache.glob("*")), [])
        self.assertEqual(server.leftovers(), [])

    def test_a_file_that_is_not_of_the_bundle_makes_it_one_to_send_again(self):
        server = self.server()
        self.connect()
        folder = server.bundles()[0] / "lib/expertscope"
        (folder / "libm.so.6").write_text("not of the bundle")
        self.assertIn("Sent the worker", self.connect()[1]["worker"]["words"])
        self.assertFalse((folder / "libm.so.6").exists())
        os.symlink("/dev/null", folder / "libm.so.6")
        self.assertIn("Sent the worker", self.connect()[1]["worker"]["words"])

    def test_what_the_configuration_forwards_is_left_to_its_user(self):
        server = self.server()
        with open(server.root / "ssh_config", "a") as config:
            config.write(f"  LocalForward {free_port()} 127.0.0.1:1\n  RemoteCommand false\n")
        self.connect()
        self.ok("run", "--remote", HOST, *CPU, *SMALL, env=self.env)

    def test_equal_files_of_two_names_are_both_there(self):
        self.server()
        for name in ("x.npy", "w.npy"):
            np.save(self.path(name), np.ones((64, 64), np.float32))
        size = ["--num_experts", 1, "--rows", 64, "--n", 64, "--k", 64, "--iterations", 1]
        self.ok("run", "--remote", HOST, *CPU, *size, "--activations.file.path", self.path("x.npy"),
                "--weights.file.path", self.path("w.npy"), env=self.env)

    def test_former_workers_are_removed_unless_they_run(self):
        server = self.server()
        old, used, strange = server.cache / ("a" * 64), server.cache / ("b" * 64), server.cache / "mine"
        for folder in (old, used, strange):
            (folder / "bin").mkdir(parents=True)
            (folder / "MANIFEST").touch()
        for folder in (old, used, strange):
            os.utime(folder / "MANIFEST", (0, 0))
        program = used / "bin/expertscope-worker"
        shutil.copy(shutil.which("sleep"), program)
        running = subprocess.Popen([program, "60"])
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        self.connect()
        self.assertFalse(old.exists())
        self.assertTrue(used.exists())
        self.assertTrue(strange.exists(), "it is no bundle's name")

    def test_hostile_names_are_refused_and_run_nothing(self):
        self.server()
        marker = self.path("marker")
        for name in (f"-oProxyCommand=touch {marker}", f"a;touch {marker}", f"$(touch {marker})", f"`touch {marker}`",
                     f"x -oProxyCommand={marker}", f"user@-oProxyCommand={marker}", "a\nb"):
            for command in (["connect", "--", name], ["run", f"--remote={name}", *SMALL]):
                said = self.refused(1, *command, env=self.env)
                self.assertIn("is not a machine name", said)
        self.assertFalse(os.path.exists(marker))

    def test_a_home_folder_with_blanks_quotes_and_commands_in_its_name(self):
        server = self.server(home="a home's \\ $(cd;touch marker) `cd;touch marker`")
        self.connect()
        self.assertEqual(len(server.bundles()), 1)
        self.ok("run", "--remote", HOST, *CPU, *SMALL, env=self.env)
        self.assertEqual(list(server.root.rglob("marker")), [])

    def test_input_files_are_sent_once_and_named_as_here(self):
        server = self.server()
        x = np.random.default_rng(1).normal(size=(64, 256)).astype(np.float32)
        name = self.path("a b's $(cd;touch marker).npy")
        np.save(name, x)
        splits = self.path("splits.json")
        with open(splits, "w") as file:
            file.write("[16, 16, 32, 0]")
        given = [*CPU, "--input", name, "--splits", splits, "--n", 64, "--json"]
        there = json.loads(self.ok("compare", "--remote", HOST, *given, env=self.env))
        here = json.loads(self.ok("compare", *given))
        self.assertEqual(there["request"]["request"], here["request"]["request"])
        files = sorted((server.cache / "files").glob("*/*"))
        self.assertEqual(len(files), 2)
        for file in files:
            self.assertEqual(file.parent.name, hashlib.sha256(file.read_bytes()).hexdigest())
        before = [file.stat().st_ino for file in files]
        self.ok("compare", "--remote", HOST, *given, env=self.env)
        self.assertEqual([file.stat().st_ino for file in sorted((server.cache / "files").glob("*/*"))], before)
        self.assertEqual(list(server.root.rglob("marker")), [])

    def test_a_file_of_that_machine_is_read_there(self):
        server = self.server()
        np.save(server.home / "x.npy", np.ones((64, 256), np.float32))
        size = ["--num_experts", 4, "--rows", 64, "--n", 64, "--k", 256, "--iterations", 1]
        out = json.loads(self.ok("run", "--remote", HOST, *CPU, *size,                                  "--activations.file.path", f"{HOST}:{server.home}/x.npy", "--json", env=self.env))
        self.assertEqual(out["request"]["activations"]["file"]["path"], f"{HOST}:{server.home}/x.npy")
        self.assertFalse((server.cache / "files").exists())
        said = self.refused(1, "run", "--remote", HOST, *CPU, *size, "--activations.file.path", "/nowhere/x.npy",
                            env=self.env)
        self.assertIn(f"a file of {HOST} is named {HOST}:/path", said)

    def test_words_of_a_launcher_start_the_worker(self):
        self.server()
        launcher = self.path("a launcher's")
        with open(launcher, "w") as script:
            script.write('#!/bin/sh\necho "$1" > "$0.said"\nshift\nexec "$@"\n')
        os.chmod(launcher, 0o755)
        self.ok("run", "--remote", HOST, "--launcher", launcher, "--launcher", "$(id) --gpus=1", *CPU, *SMALL,
                env=self.env)
        with open(launcher + ".said") as said:
            self.assertEqual(said.read(), "$(id) --gpus=1\n")

    def test_every_way_to_provide_cublaslt_is_taken(self):
        self.server()
        for way in ("automatic", "fetch", "send", "skip"):
            self.connect("--remote-cublaslt", way)
        self.assertIn("'teleport' is not one of",
                      self.refused(1, "connect", HOST, "--remote-cublaslt", "teleport", env=self.env))

    def test_a_gpu_that_is_not_there_is_refused(self):
        self.server()
        self.assertIn("GPU 7 is not on", self.refused(1, "connect", HOST, "--remote-gpu", 7, env=self.env))
        self.assertIn("--remote-gpu", self.refused(1, "connect", HOST, "--remote-gpu", -2, env=self.env))

    def test_a_lost_connection_ends_a_run_with_its_reason(self):
        server = self.server()
        self.connect()
        run = subprocess.Popen([PROGRAM, "run", "--remote", HOST, *CPU, *map(str, LONG)],
                               env={**os.environ, **self.env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(3)
        self.assertIsNone(run.poll())
        server.cut()
        cut = time.monotonic()
        _, said = run.communicate(timeout=20)
        self.assertLess(time.monotonic() - cut, 5)
        self.assertEqual(run.returncode, WORKER_FAILURE, said)
        self.assertIn("the worker is lost", said)

    def test_a_machine_that_does_not_answer(self):
        server = self.server()
        server.cut()
        said = self.refused(WORKER_FAILURE, "connect", HOST, env=self.env)
        self.assertRegex(said, "ssh cannot reach elsewhere: .*Connection refused")

    def test_a_passphrase_is_asked_for_once_and_a_wrong_one_refused(self):
        server = self.server(passphrase="open sesame")
        code, shown = on_terminal(["connect", HOST], self.env, [("Enter passphrase", "open sesame")])
        self.assertEqual(code, 0, shown)
        self.assertEqual(shown.count("Enter passphrase"), 1)
        self.assertNotIn("sesame", shown)
        code, shown = on_terminal(["connect", HOST], self.env, [("Enter passphrase", "wrong")] * 3)
        self.assertEqual(code, WORKER_FAILURE, shown)
        self.assertIn("Permission denied", shown)
        self.assertFalse(any(b"sesame" in one.read_bytes() for one in server.cache.rglob("*") if one.is_file()))

    def test_an_interrupt_leaves_neither_a_folder_nor_a_silent_terminal(self):
        self.ends_at_a_hidden_prompt(signal.SIGINT, lambda own, _: os.write(own, b"half\x03"))

    def test_a_signal_leaves_neither_a_folder_nor_a_silent_terminal(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number.name):
                self.ends_at_a_hidden_prompt(number, lambda _, process, one=number: process.send_signal(one))

    def ends_at_a_hidden_prompt(self, number, end):
        self.server(passphrase="open sesame")
        folders = set(pathlib.Path("/tmp").glob("expertscope-*"))
        own, terminal = pty.openpty()
        self.addCleanup(os.close, own)
        self.addCleanup(os.close, terminal)
        before = termios.tcgetattr(terminal)
        process = subprocess.Popen([PROGRAM, "connect", HOST], env={**os.environ, **self.env}, stdin=terminal,
                                   stdout=terminal, stderr=terminal, start_new_session=True,
                                   preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0))
        shown = b""
        while b"passphrase" not in shown:
            shown += os.read(own, 4096)
        limit = time.monotonic() + 10
        while termios.tcgetattr(terminal)[3] & termios.ECHO and time.monotonic() < limit:
            time.sleep(0.02)
        self.assertFalse(termios.tcgetattr(terminal)[3] & termios.ECHO)
        self.assertTrue(set(pathlib.Path("/tmp").glob("expertscope-*")) - folders)
        end(own, process)
        self.assertEqual(process.wait(10), -number)
        self.assertEqual(termios.tcgetattr(terminal), before)
        limit = time.monotonic() + 5
        while set(pathlib.Path("/tmp").glob("expertscope-*")) - folders and time.monotonic() < limit:
            time.sleep(0.02)  # the guard removes it when it has ended ssh
        self.assertEqual(set(pathlib.Path("/tmp").glob("expertscope-*")) - folders, set())

    def test_a_killed_program_leaves_no_folder(self):
        self.server()
        folders = set(pathlib.Path("/tmp").glob("expertscope-*"))
        process = subprocess.Popen([PROGRAM, "run", "--remote", HOST, *CPU, *map(str, LONG)],
                                   env={**os.environ, **self.env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        limit = time.monotonic() + 20
        while not set(pathlib.Path("/tmp").glob("expertscope-*/ssh")) and time.monotonic() < limit:
            time.sleep(0.02)
        process.kill()
        process.wait()
        limit = time.monotonic() + 5
        while set(pathlib.Path("/tmp").glob("expertscope-*")) - folders and time.monotonic() < limit:
            time.sleep(0.02)
        self.assertEqual(set(pathlib.Path("/tmp").glob("expertscope-*")) - folders, set())

    def test_without_a_terminal_nothing_is_asked(self):
        self.server(passphrase="open sesame")
        done = subprocess.run([PROGRAM, "connect", HOST], env={**os.environ, **self.env}, capture_output=True,
                              text=True, timeout=60, start_new_session=True)
        self.assertEqual(done.returncode, WORKER_FAILURE)
        self.assertIn("Permission denied", done.stderr)

    def test_a_wrong_password_is_refused(self):
        self.server(accepts_password=True)
        code, shown = on_terminal(["connect", HOST], self.env, [("password:", "wrong")] * 2)
        self.assertEqual(code, WORKER_FAILURE, shown)
        self.assertEqual(shown.count("password:"), 2)
        self.assertIn("Permission denied", shown)

    def test_an_unknown_host_key_is_asked_about(self):
        server = self.server(knows_host=False)
        code, shown = on_terminal(["connect", HOST], self.env, [("(yes/no", "no")])
        self.assertEqual(code, WORKER_FAILURE, shown)
        self.assertIn("Host key verification failed", shown)
        fingerprint = subprocess.run(["ssh-keygen", "-lf", server.root / "host_key.pub"], capture_output=True,
                                     text=True, check=True).stdout.split()[1]
        self.assertIn(fingerprint, shown)
        code, shown = on_terminal(["connect", HOST], self.env, [("(yes/no", "yes")])
        self.assertEqual(code, 0, shown)
        code, shown = on_terminal(["connect", HOST], self.env, [])
        self.assertEqual(code, 0, shown)
        self.assertNotIn("(yes/no", shown)

    def file_system(self, server, options):
        """Another file system for that machine's cache; skips the test where none can be mounted."""
        place = server.home / ".cache"
        place.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"no file system can be mounted here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", place], check=True)

    def test_a_full_disk_is_said(self):
        server = self.server()
        self.file_system(server, "size=4m")
        said = self.refused(WORKER_FAILURE, "connect", HOST, env=self.env)
        self.assertRegex(said, "needs .* MiB on elsewhere, which has .* MiB free")
        self.assertEqual(server.leftovers(), [])

    def test_a_home_that_forbids_execution_is_said(self):
        server = self.server()
        self.file_system(server, "noexec")
        said = self.refused(WORKER_FAILURE, "connect", HOST, env=self.env)
        self.assertIn("forbids execution", said)
        self.assertIn("XDG_CACHE_HOME", said)

    def test_a_cache_that_cannot_be_made_is_said(self):
        server = self.server()
        (server.home / ".cache").write_text("a file")
        said = self.refused(WORKER_FAILURE, "connect", HOST, env=self.env)
        self.assertIn("cannot be made", said)

    def test_the_bundle_needs_no_newer_glibc_than_is_promised(self):
        unpacked = pathlib.Path(self.path("unpacked"))
        with tarfile.open(self.ok("bundle", "--out", self.path("worker.bundle")).strip()) as archive:
            unpack(archive, unpacked)
        files = [one for one in unpacked.rglob("*") if one.is_file() and one.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(files), 8)
        present = {one.name for one in files}
        for file in files:
            of_cxx = file.parent.name == "c++"
            symbols = subprocess.run(["objdump", "-T", file], capture_output=True, text=True, check=True).stdout
            # Those that it needs have no section of their own.
            needed = re.findall(r"\*UND\*.*\((GLIBC|GLIBCXX)_([0-9.]+)\)", symbols)
            for kind, version in needed:
                limit = {"GLIBC": (2, 36) if of_cxx else (2, 35), "GLIBCXX": (3, 4, 30)}[kind]
                self.assertLessEqual(tuple(map(int, version.split("."))), limit, f"{file.name} needs {kind}_{version}")
            dynamic = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
            for library in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
                of_glibc = re.match(r"(libc|libm|libdl|libpthread|librt|libutil|ld-linux-x86-64)\.so", library)
                self.assertTrue(of_glibc or library in present, f"{file.name} needs {library}")


if __name__ == "__main__":
    if why_not():
        print("skipped: " + why_not())
    else:
        unittest.main()
