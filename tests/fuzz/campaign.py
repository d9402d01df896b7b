#!/usr/bin/env python3
"""Runs the libFuzzer programs of a build folder in turns until each has had its CPU time.

Keeps what it learns in BUILD/fuzz/TARGET (corpus, findings, log), so that a later call goes on from
there. Ends with a table of all that was run in that folder, and status 1 if there is a finding.
"""
import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

# Of CPU. A slice begins with the whole corpus, so a short one learns nothing more.
SLICE_SECONDS = 120
MEMORY_MIB = 1024
# By the clock on the wall, which a busy machine stretches at this niceness; what reading may cost is
# checked by each target, in seconds of CPU.
HANGS_SECONDS = 600
# Inputs above these say nothing more and make executions slow.
LENGTHS = {"session": 4096, "frames": 32768, "commands": 16384, "dot": 16384}
USUAL_LENGTH = 8192

root = pathlib.Path(__file__).resolve().parent
stopping = threading.Event()


class Target:
    def __init__(self, build, name):
        self.name = name
        self.program = build / "bin" / f"{name}_fuzz"
        self.folder = build / "fuzz" / name
        self.corpus = self.folder / "corpus"
        self.findings = self.folder / "findings"
        for folder in (self.corpus, self.findings):
            folder.mkdir(parents=True, exist_ok=True)

    def slices(self):
        log = self.folder / "slices.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def cpu_seconds(self):
        return sum(one["cpu_seconds"] for one in self.slices())

    def found(self):
        return sorted(self.findings.iterdir())

    def prepare(self):
        subprocess.run([self.program.with_name(self.program.name + "_test"), "--prepare", self.folder], check=True)

    def run(self, seconds, environment):
        """One libFuzzer process of about that many seconds of CPU."""
        if stopping.is_set():
            return
        command = ["nice", "-n", "19", self.program, self.corpus, self.folder / "seeds",
                   root / "corpus" / self.name, f"-dict={self.folder / 'dictionary'}",
                   f"-artifact_prefix={self.findings}/",
                   f"-max_len={LENGTHS.get(self.name, USUAL_LENGTH)}", f"-rss_limit_mb={MEMORY_MIB}",
                   f"-timeout={HANGS_SECONDS}", f"-report_slow_units={HANGS_SECONDS}",
                   "-print_final_stats=1", "-use_value_profile=0", "-reload=0"]
        with open(self.folder / "output.txt", "wb") as output:
            process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, env=environment, start_new_session=True)
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if stopping.is_set() or cpu_seconds_of(process.pid) > seconds:
                    # libFuzzer prints its statistics and ends.
                    process.send_signal(signal.SIGINT)
                time.sleep(0.5)
        process.returncode = os.waitstatus_to_exitcode(status)
        text = (self.folder / "output.txt").read_text(errors="replace")
        last = (re.findall(r"^#(\d+)\s.*cov: (\d+) ft: (\d+) corp: (\d+)", text, re.M) or [(0, 0, 0, 0)])[-1]
        executed = re.findall(r"stat::number_of_executed_units: (\d+)", text)
        one = {"date": datetime.datetime.now().isoformat(timespec="seconds"),
               "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 1),
               "executions": int(executed[-1] if executed else last[0]), "edges": int(last[1]),
               "features": int(last[2]), "inputs": int(last[3]), "peak_mib": usage.ru_maxrss // 1024,
               "status": process.returncode}
        with open(self.folder / "slices.jsonl", "a") as log:
            log.write(json.dumps(one) + "\n")
        print(f"{self.name}: {one['executions']} executions in {one['cpu_seconds']} CPU seconds, "
              f"{one['edges']} edges", file=sys.stderr, flush=True)


def cpu_seconds_of(pid):
    # Behind the name, which may hold anything but ")" after it: fields 14 and 15 of proc(5).
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compiler(build):
    cache = (build / "CMakeCache.txt").read_text()
    path = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, re.M).group(1)
    return subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def machine():
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return f"{os.cpu_count()} x {model.group(1) if model else platform.machine()}"


def table(build, targets):
    lines = [f"{datetime.date.today()}, {compiler(build)}, {machine()}", "",
             "| target | CPU min | executions | per CPU s | edges | corpus | peak MiB | findings left |",
             "|---|---|---|---|---|---|---|---|"]
    for target in targets:
        slices = target.slices()
        if not slices:
            continue
        cpu = sum(one["cpu_seconds"] for one in slices)
        executions = sum(one["executions"] for one in slices)
        lines.append(f"| {target.name} | {cpu / 60:.1f} | {executions} | {executions / max(cpu, 1e-9):.0f} | "
                     f"{slices[-1]['edges']} | {slices[-1]['inputs']} | {max(one['peak_mib'] for one in slices)} | "
                     f"{len(target.found())} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="build folder with the programs")
    parser.add_argument("seconds", type=float, help="CPU seconds for each target, earlier calls counted; 0 = only the table")
    parser.add_argument("targets", nargs="*", help="default: all there are")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs at a time")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    known = sorted(path.name.removesuffix("_fuzz") for path in (build / "bin").glob("*_fuzz"))
    unknown = set(arguments.targets) - set(known)
    if unknown or not known:
        parser.error(f"no fuzz target {', '.join(sorted(unknown))}; there are: {', '.join(known)}")
    targets = [Target(build, name) for name in arguments.targets or known]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    memory = pathlib.Path("/dev/shm")
    scratch = tempfile.mkdtemp(prefix="fuzz-", dir=memory if os.access(memory, os.W_OK) else None)
    environment = dict(os.environ, TMPDIR=scratch, OMP_NUM_THREADS="1",
                       ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=0:max_allocation_size_mb=512",
                       UBSAN_OPTIONS="print_stacktrace=1")
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            if arguments.seconds > 0:
                for target in targets:
                    target.prepare()
            while not stopping.is_set():
                # One that has found something would only find it again.
                due = [t for t in targets if not t.found() and t.cpu_seconds() < arguments.seconds]
                if not due:
                    break
                due.sort(key=Target.cpu_seconds)
                # One slice of each at most, so that all move on together.
                waits = [pool.submit(t.run, min(SLICE_SECONDS, arguments.seconds - t.cpu_seconds()), environment)
                         for t in due]
                for wait in waits:
                    wait.result()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(table(build, targets))
    findings = [path for target in targets for path in target.found()]
    for path in findings:
        print(f"finding: {path}; replay it with {build / 'bin'}/{path.parent.parent.name}_fuzz_test {path}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
