"""The command line against faulty workers, corrupted files and hostile environments: every call ends in time
with a documented exit code, says why it failed, and leaves no process behind."""
import concurrent.futures
import json
import os
import pathlib
import resource
import shutil
import signal
import stat
import struct
import subprocess
import tempfile
import time

import storm
from storm import Kind

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 20  # for any call
LEFT_SECONDS = 2  # by which a worker may outlive its command
TIMEOUT = 3  # --timeout of calls to a worker that may never answer

# Faults of files and environments; those of workers are in fault_kinds.h.
FILE_KINDS = [Kind(name, "file", "any", weight, 0, what) for name, weight, what in [
    ("request-spoilt", 12, "a request file with bytes changed, lost or repeated"),
    ("request-hostile", 12, "a request whose values are extreme, of other types, or nested deeply"),
    ("log-spoilt", 8, "a request log with bytes changed, lost or repeated"),
    ("session-spoilt", 14, "a recording with bytes changed, lost or repeated"),
    ("dot-spoilt", 10, "a graph in dot with bytes changed, lost or repeated"),
    ("tensor-spoilt", 10, "a .npy or .safetensors with bytes changed, lost or repeated"),
    ("splits-spoilt", 6, "splits with bytes changed, lost or repeated"),
    ("no-file", 8, "a folder, FIFO, device, dangling link or empty file instead of a file"),
]]
PLACE_KINDS = [Kind(name, "place", "any", weight, 0, what) for name, weight, what in [
    ("command-killed", 8, "SIGKILL to the command while its worker runs"),
    ("command-ended", 6, "SIGTERM, SIGINT or SIGHUP to the command while its worker runs"),
    ("output-closed", 4, "the command's output has no reader"),
    ("output-full", 4, "the disk that the output goes to is full"),
    ("file-limit", 4, "a recording beyond the file size limit"),
    ("few-descriptors", 3, "hardly any descriptors are left"),
]]


class Calls:
    """One call of the command line in its own folder."""

    def __init__(self, options, folder, chance, knows_timeout):
        self.options, self.folder, self.chance = options, folder, chance
        self.plan = storm.Plan(folder)
        self.knows_timeout = knows_timeout
        self.complaints = []
        self.command = ()

    def path(self, name):
        return os.path.join(self.folder, name)

    def worker(self, kind="none", orders_before=0):
        self.plan.write(kind, self.chance.getrandbits(62), orders_before)
        arguments = ["--worker", self.options.worker]
        # It looks for values that are let in before it answers, and reports no progress meanwhile.
        seconds = 5 * TIMEOUT if kind == "hostile-result" else TIMEOUT
        return arguments + ["--timeout", str(seconds)] if self.knows_timeout else arguments

    def start(self, *arguments, **kwargs):
        self.command = arguments
        kwargs = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
        return subprocess.Popen(
            [self.options.program, *map(str, arguments)], stdin=subprocess.DEVNULL, cwd=self.folder,
            env={**os.environ, **self.plan.environment, "OPENBLAS_NUM_THREADS": "1"}, **kwargs)

    def end(self, process, asked=0):
        """Waits, and checks how it ended. `asked`: the signal that was sent, which may end it."""
        limit = LIMIT_SECONDS * self.options.patience
        try:
            out, errors = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.complain(f"does not end within {limit:.0f} s")
            return None
        out, errors = out or b"", errors or b""
        code = process.returncode
        doctor = self.command[0] == "doctor"
        if code < 0 and code != -asked:
            self.complain(f"ends by signal {-code}: {errors[-300:]!r}")
        elif code > (3 if doctor else 2):
            self.complain(f"ends with {code}, an unknown exit code: {errors[-300:]!r}")
        # The doctor's 1 and 2 report what it found.
        explained = errors or (doctor and code in (1, 2) and out) or process.stderr is None
        if code > 0 and not explained:
            self.complain(f"ends with {code} and does not say why")
        for text in (out, errors):
            if any(byte < 32 and byte not in b"\t\n\r" or byte == 127 for byte in text):
                self.complain(f"prints control characters: {text[:200]!r}")
        if b"AddressSanitizer" in errors or b"runtime error:" in errors:
            self.complain(errors[-2000:].decode(errors="replace"))
        if b"expertscope-worker" not in errors and b"the worker is lost: killed" in errors and not (
                self.plan.tally()):
            self.complain(f"the real worker was killed by it: {errors[-300:]!r}")
        return code

    def call(self, *arguments, **kwargs):
        return self.end(self.start(*arguments, **kwargs))

    def check_nothing_left(self):
        end = time.monotonic() + LEFT_SECONDS * self.options.patience
        while self.plan.processes() and time.monotonic() < end:
            time.sleep(0.02)
        for pid in self.plan.processes():
            self.complain(f"process {pid} outlives the command")
            os.kill(pid, signal.SIGKILL)

    def complain(self, what):
        shown = " ".join(map(str, self.command))
        self.complaints.append(f"expertscope {shown}: {what}")

    # --- workers ------------------------------------------------------------------------------

    def worker_fault(self, kind):
        orders_before = 0
        if kind.moment == "order" and self.chance.random() < 0.3:
            orders_before = self.chance.randrange(1, 3)
        worker = self.worker(kind.name, orders_before)
        if kind.moment == "signal":
            return self.signalled(kind, worker)
        choice = self.chance.randrange(6)
        if choice == 0 and kind.moment == "start":
            command = self.chance.choice([["list", "all"], ["doctor"], ["bench"],
                                          ["quantize", "--input", self.tensor(), "--dump",
                                           self.path("dump")]])
        elif orders_before:
            self.log(orders_before + 2)
            command = ["run", "--requests", self.path("log.jsonl")]
        else:
            command = ["run"]
        recorded = command[0] == "run" and self.chance.random() < 0.5
        if recorded:
            command += ["--record", self.path("kept.session")]
        if command[0] == "run" and self.chance.random() < 0.5:
            command.append("--json")
        code = self.call(*command, *worker)
        if not self.plan.said("fault"):
            self.complain("the worker did not commit its fault")
        # There is only one order: what comes after its answer may not be seen any more.
        if command[0] == "run" and kind.moment == "order" and code == 0 and kind.expect == "stalled":
            self.complain("succeeds although the worker fell silent")
        if kind.expect in ("lives", "shown") and kind.name not in ("answers-reversed", "owed-flood") and (
                command[0] == "run") and code not in (0, None):
            self.complain(f"ends with {code} although the worker lives")
        if recorded:
            self.recorded(code)

    def recorded(self, code):
        """Every run that the command said it had is in the file."""
        answered = len(self.plan.said("answered"))
        if not os.path.exists(self.path("kept.session")):
            return
        done = subprocess.run([self.options.program, "export", self.path("kept.session"), "--csv",
                               self.path("tables")], capture_output=True, text=True,
                              timeout=LIMIT_SECONDS * self.options.patience)
        runs = pathlib.Path(self.path("tables")) / "runs.csv"
        kept = len(runs.read_text().splitlines()) - 1 if runs.exists() else 0
        if code == 0 and kept == 0:
            self.complain(f"recorded nothing that can be read: {done.stderr}")
        # The last answer may be unread in the pipe when the command ends.
        if answered and code == 0 and kept < answered - 1:
            self.complain(f"{answered} runs were answered, {kept} are recorded")

    def signalled(self, kind, worker):
        process = self.start("run", *worker)
        end = time.monotonic() + 5 * self.options.patience
        while not self.plan.said("started") and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(self.chance.random() * 0.03)
        for (pid, *_) in self.plan.said("started"):
            try:
                os.kill(int(pid), signal.SIGSTOP if kind.name == "signal-cont" else kind.number)
                if kind.name == "signal-cont":
                    time.sleep(self.chance.random())
                    os.kill(int(pid), signal.SIGCONT)
            except ProcessLookupError:
                pass  # it was over before
        self.end(process)

    # --- files --------------------------------------------------------------------------------

    def log(self, requests):
        lines = [json.dumps({"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256},
                             "seed": str(i)}) for i in range(requests)]
        pathlib.Path(self.path("log.jsonl")).write_text("\n".join(lines) + "\n")

    def tensor(self):
        path = self.path("x.npy")
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (64, 128), }"
        header += b" " * (117 - len(header)) + b"\n"
        values = struct.pack("<8192f", *(self.chance.gauss(0, 1) for _ in range(8192)))
        pathlib.Path(path).write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                                       header + values)
        return path

    def safetensors(self):
        path = self.path("x.safetensors")
        header = json.dumps({"x": {"dtype": "F32", "shape": [64, 128],
                                   "data_offsets": [0, 32768]}}).encode()
        values = struct.pack("<8192f", *(self.chance.gauss(0, 1) for _ in range(8192)))
        pathlib.Path(path).write_bytes(struct.pack("<Q", len(header)) + header + values)
        return path

    def spoil(self, path):
        """Changes, drops or repeats bytes, sometimes at the start, where the structure is."""
        data = bytearray(pathlib.Path(path).read_bytes())
        for _ in range(self.chance.randrange(1, 12)):
            if not data:
                break
            near = self.chance.random() < 0.5
            at = self.chance.randrange(min(len(data), 256) if near else len(data))
            count = min(len(data) - at, self.chance.choice([1, 1, 2, 4, 8, 100, 5000]))
            what = self.chance.randrange(6)
            if what == 0:
                data[at] ^= 1 << self.chance.randrange(8)
            elif what == 1:
                data[at:at + count] = self.chance.randbytes(count)
            elif what == 2:
                del data[at:at + count]
            elif what == 3:
                data[at:at] = data[at:at + count]
            elif what == 4:
                data[at:at + count] = bytes([self.chance.choice([0, 255, 0x7F, 0x80])]) * count
            elif self.chance.random() < 0.2:
                del data[at:]
        pathlib.Path(path).write_bytes(bytes(data))
        return path

    def hostile_json(self):
        chance = self.chance
        odd = [None, True, -1, 0, 1e308, -1e308, 2**63, 2**64, -2**63, 1e-320, "", "text", "x" * 100000,
               [], {}, [[]], "\u0000", "\u202e", "-0", "NaN", "9" * 400]
        document = {
            "shape": {"preset": "", "num_experts": 4, "rows": "64", "n": "64", "k": "256"},
            "routing": {"distribution": "uniform", "path": "", "alignment": "1"},
            "activations": {"synthetic": {"distribution": "normal", "element": "bf16"}},
            "recipe": {"scaling": "BLOCK", "pow2_scales": True, "amax_epsilon": 0.0,
                       "delayed": {"history_length": 16, "margin": 0}},
            "launch": {"kind": "eager", "iterations": 2, "deadline_factor": 1.0},
            "layers": 1, "seed": "1", "cublaslt_library": "", "streams": 1,
            "measure": {"trace": "nodes", "traced_iterations": 1},
        }
        for _ in range(chance.randrange(1, 4)):
            place = document
            while True:
                name = chance.choice(list(place) or ["new"])
                if not isinstance(place.get(name), dict) or chance.random() < 0.3:
                    break
                place = place[name]
            place[name] = chance.choice(odd)
        if chance.random() < 0.2:
            depth = chance.choice([100, 1000, 10000, 100000])
            return '{"shape":' * depth + "1" + "}" * depth
        if chance.random() < 0.1:
            return "[" * chance.choice([1000, 100000])
        if chance.random() < 0.1:
            document[chance.choice(["x" * 50000, "\u0007", ""])] = chance.choice(odd)
        return json.dumps(document)

    SMALL = ("--num_experts", 4, "--tokens", 64, "--n", 64, "--k", 256, "--iterations", 2)
    REAL = ("--worker-backend", "cpu")

    def file_fault(self, kind):
        chance = self.chance
        if kind.name == "no-file":
            return self.no_file()
        if kind.name == "request-hostile":
            path = self.path("request.json")
            pathlib.Path(path).write_text(self.hostile_json())
        elif kind.name == "request-spoilt":
            path = self.path("request.json")
            pathlib.Path(path).write_text(json.dumps(json.loads(self.one_request()), indent=1))
            self.spoil(path)
        if kind.name.startswith("request"):
            # Its own worker answers anything: what is tested is how the file is read.
            command = chance.choice([["run"], ["doctor"], ["compare"], ["sweep"]])
            if chance.random() < 0.2:
                other = self.path("other.json")
                pathlib.Path(other).write_text(self.one_request())
                return self.call("ab", "--a", path, "--b", other, *self.worker())
            return self.call(*command, "--request", path, *self.worker())
        if kind.name == "log-spoilt":
            self.log(chance.randrange(1, 5))
            return self.call("run", "--requests", self.spoil(self.path("log.jsonl")), *self.worker())
        if kind.name == "session-spoilt":
            source = chance.choice([ROOT / "assets/sessions/workspace_bug.session",
                                    ROOT / "tests/worker/sessions/healthy_step.session"])
            path = self.spoil(shutil.copy(source, self.path("spoilt.session")))
            if chance.random() < 0.5:
                return self.call("doctor", "--snapshot", path)
            return self.call("export", path, "--chrome", self.path("trace.json"), "--csv",
                             self.path("tables"))
        if kind.name == "dot-spoilt":
            source = chance.choice(sorted((ROOT / "tests/unit/graph/dot").glob("*.dot")))
            return self.call("doctor", "--snapshot",
                             self.spoil(shutil.copy(source, self.path("spoilt.dot"))))
        dump = ("--dump", self.path("dump"), "--recipe", "fp8-block", *self.REAL)
        if kind.name == "tensor-spoilt":
            path = self.spoil(self.tensor() if chance.random() < 0.5 else self.safetensors())
            return self.call("quantize", "--input", path, "--num_experts", 4, *dump)
        splits = self.path("splits.json")
        pathlib.Path(splits).write_text("[16, 16, 16, 16]")
        return self.call("quantize", "--input", self.tensor(), "--splits", self.spoil(splits), *dump)

    def one_request(self):
        self.log(1)
        return pathlib.Path(self.path("log.jsonl")).read_text()

    def no_file(self):
        chance = self.chance
        path = self.path("odd")
        what = chance.randrange(7)
        if what == 0:
            os.mkdir(path)
        elif what == 1:
            os.mkfifo(path)
        elif what == 2:
            path = chance.choice(["/dev/zero", "/dev/null", "/dev/urandom", "/dev/full"])
        elif what == 3:
            os.symlink(path, path)
        elif what == 4:
            pathlib.Path(path).touch()
        elif what == 5:
            with open(path, "wb") as file:
                file.truncate(1 << 40)  # none of it is on the disk
        else:
            path = chance.choice(["", "/nowhere/at/all", "/proc/self/mem", "/" + "x" * 5000])
        command = chance.choice([
            ["run", "--request", path, *self.worker()],
            ["run", "--requests", path, *self.worker()],
            ["ab", "--a", path, "--b", path, *self.worker()],
            ["export", path, "--chrome", self.path("trace.json")],
            ["doctor", "--snapshot", path],
            ["quantize", "--input", path, "--num_experts", 4, "--dump", self.path("dump"), *self.REAL],
            ["quantize", "--input", self.tensor(), "--splits", path, "--dump", self.path("dump"),
             *self.REAL],
        ])
        self.call(*command)

    # --- environments -------------------------------------------------------------------------

    def place_fault(self, kind):
        chance = self.chance
        if kind.name in ("command-killed", "command-ended"):
            return self.ended(kind)
        if kind.name == "few-descriptors":
            limit = chance.randrange(3, 16)
            return self.call("run", "--record", self.path("kept.session"), *self.worker(),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                                   (limit, limit)))
        if kind.name == "file-limit":
            limit = chance.choice([0, 1000, 4096, 60_000, 150_000])
            return self.call("run", "--record", self.path("kept.session"), *self.worker(),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                   (limit, limit)))
        command = chance.choice([["run", "--json", *self.worker()], ["list", "presets"],
                                 ["list", "presets", "--json"], ["run", *self.worker()],
                                 ["--help"], ["doctor", "--list"]])
        if kind.name == "output-full":
            with open("/dev/full", "wb") as full:
                code = self.end(self.start(*command, stdout=full))
            if code == 0:
                self.complain("succeeds although nothing it printed could be written")
            if command[0] == "doctor" and code in (1, 2):
                self.complain(f"ends with {code} as if it had found something")
            return
        read, write = os.pipe()
        os.close(read)
        # Without a reader SIGPIPE ends a program in a pipeline.
        self.end(self.start(*command, stdout=write, restore_signals=True), asked=signal.SIGPIPE)
        os.close(write)

    def ended(self, kind):
        fault = self.chance.choice(["none", "stuck", "child-leaves", "stops-itself", "deaf", "mute",
                                    "late-answer"])
        process = self.start("run", "--record", self.path("kept.session"), *self.worker(fault))
        end = time.monotonic() + 5 * self.options.patience
        while not self.plan.said("started") and process.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        time.sleep(self.chance.random() * 0.1)
        number = signal.SIGKILL
        if kind.name == "command-ended":
            number = self.chance.choice([signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        process.send_signal(number)
        self.end(process, asked=number)
        self.recorded(None)


def main():
    parser = storm.options(__doc__)
    parser.add_argument("--at-once", type=int, default=4, help="calls at a time")
    options = storm.parsed(parser)
    worker_kinds = [kind for kind in storm.worker_kinds(options.worker)
                    if kind.moment != "caller" and kind.name not in ("great-flood", "owed-flood")]
    all_of_it = storm.Storm("command_storm.py PROGRAM WORKER", options,
                            worker_kinds + FILE_KINDS + PLACE_KINDS)
    help_text = subprocess.run([options.program, "run", "--help"], capture_output=True, text=True)
    knows_timeout = "--timeout" in help_text.stdout
    if not knows_timeout:
        print("failure --timeout: the command line waits for a worker without a limit", flush=True)
        all_of_it.failures += 1

    def one(index):
        kind, chance = all_of_it.fault(index)
        with tempfile.TemporaryDirectory(prefix="command-storm") as folder:
            calls = Calls(options, folder, chance, knows_timeout)
            start = time.monotonic()
            try:
                {"file": calls.file_fault, "place": calls.place_fault}.get(
                    kind.moment, calls.worker_fault)(kind)
                calls.check_nothing_left()
            except Exception as error:  # of the storm itself: the others continue
                calls.complain(f"{type(error).__name__}: {error}")
            all_of_it.injected(kind.name)
            all_of_it.most("longest-call", time.monotonic() - start, "s")
            for what in calls.complaints:
                all_of_it.fail(index, kind.name, what.replace("\n", " "))

    with concurrent.futures.ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(one, all_of_it.indices()))
    raise SystemExit(all_of_it.finish())


if __name__ == "__main__":
    main()
