"""A worker on another machine over a slow link: what goes over the wire, and how long things take.

usage: python3 remote_link.py PROGRAM [ONE_WAY_MS MEGABITS]   (default 25 ms each way, 20 Mbit/s)

The other machine is an sshd on the loopback device behind tests/support/slow_link.py. Prints one JSON row per
measurement; each carries the link, the date and the program's version.
"""

import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from ssh_server import HOST, SshServer, why_not  # noqa: E402

SLOW_LINK = pathlib.Path(__file__).resolve().parent.parent / "support" / "slow_link.py"
SMALL = {"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256}, "launch": {"iterations": 2},
         "backend": "cpu-reference"}


class Link:
    def __init__(self, port, one_way_ms, megabits):
        self.process = subprocess.Popen([sys.executable, SLOW_LINK, str(port), str(one_way_ms), str(megabits)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def bytes(self):
        """-> sent there, came back"""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return tuple(map(int, self.process.stdout.readline().split()))

    def close(self):
        self.process.kill()
        self.process.wait()


def main():
    if why_not():
        sys.exit(why_not())
    program = os.path.abspath(sys.argv[1])
    one_way_ms, megabits = (float(word) for word in (sys.argv[2:] + ["25", "20"])[:2])
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    with open("/proc/cpuinfo") as facts:
        cpu = next((line.split(": ", 1)[1].strip() for line in facts if line.startswith("model name")), "unknown")

    def row(what, **values):
        print(json.dumps({"what": what, "cpu": cpu, "cores": os.cpu_count(), "one_way_ms": one_way_ms, "megabits": megabits, "version": version,
                          "date": datetime.date.today().isoformat(), **values}), flush=True)

    with SshServer() as server, tempfile.TemporaryDirectory() as folder:
        link = Link(server.port, one_way_ms, megabits)
        server.reached_at(link.port)
        env = {**os.environ, **server.client()}

        def measured(*arguments):
            there, back = link.bytes()
            began = time.monotonic()
            done = subprocess.run([program, *map(str, arguments)], env=env, capture_output=True, text=True, check=False)
            seconds = time.monotonic() - began
            if done.returncode != 0:
                sys.exit(done.stderr)
            now_there, now_back = link.bytes()
            return done.stdout, {"seconds": round(seconds, 3), "bytes_there": now_there - there,
                                 "bytes_back": now_back - back}

        subprocess.run([program, "bundle"], env=env, check=True, capture_output=True)
        row("first connection, worker sent", **measured("connect", HOST)[1])
        row("second connection, until the worker answers", **measured("connect", HOST)[1])

        # The same requests on one worker here and there: the difference per run is the link's.
        count = 20
        log = pathlib.Path(folder) / "log.jsonl"
        log.write_text("".join(json.dumps({**SMALL, "seed": 1 + i}) + "\n" for i in range(count)))

        def times_of(*where):
            process = subprocess.Popen([program, "run", "--requests", log, "--json", *where], env=env,
                                       stdout=subprocess.PIPE, text=True)
            moments = []
            for _ in process.stdout:
                moments.append(time.monotonic())
            process.wait()
            return [b - a for a, b in zip(moments, moments[1:])]

        here = statistics.median(times_of())
        there = statistics.median(times_of("--remote", HOST))
        row("from an order to its result", here_ms=round(1e3 * here, 1), there_ms=round(1e3 * there, 1),
            link_ms=round(1e3 * (there - here), 1))

        # The window: from a control to new plots with large maps, and frames while a large run arrives.
        bench = pathlib.Path(program).parent / "window_bench"
        for word in (f"live:{HOST}", f"arriving:{HOST}") if bench.exists() and shutil.which("xvfb-run") else ():
            before = link.bytes()
            lines = subprocess.run(["xvfb-run", "-a", bench, word], env=env, capture_output=True, text=True,
                                   check=True).stdout.splitlines()
            after = link.bytes()
            for line in lines:
                measured_row = json.loads(line)
                row(measured_row["what"], bytes_back=after[1] - before[1],
                    **{key: measured_row[key] for key in ("records", "n", "unit", "p50", "p95", "max", "budget")
                       if key in measured_row})
        link.close()


if __name__ == "__main__":
    main()
