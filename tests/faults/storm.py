"""Shared by the storms of the window and of the command line: the worker's table of faults, a seeded
choice among them, the plan that a faulty worker follows, and the counts they print.

Lines that a campaign reads, of any program that injects faults:
  faults KIND COUNT           the number that was injected
  measured NAME VALUE UNIT    what is worth keeping
  failure TEXT                a broken promise, with what repeats it
"""
import argparse
import collections
import os
import pathlib
import random
import subprocess
import threading

Kind = collections.namedtuple("Kind", "name moment expect weight number what")


def options(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("program", help="expertscope")
    parser.add_argument("worker", help="faulty_worker")
    parser.add_argument("--faults", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="everything follows from it")
    parser.add_argument("--only", type=int, help="this fault of the seed only")
    parser.add_argument("--kind", help="faults of this kind only")
    parser.add_argument("--patience", type=float, default=1, help="extends every limit by this factor")
    return parser


def parsed(parser):
    chosen = parser.parse_args()
    chosen.program, chosen.worker = map(os.path.abspath, (chosen.program, chosen.worker))
    chosen.patience *= float(os.environ.get("EXPERTSCOPE_PATIENCE", 1))
    return chosen


def worker_kinds(worker):
    table = subprocess.run([worker, "--list"], capture_output=True, text=True, check=True).stdout
    kinds = []
    for line in table.splitlines():
        name, moment, expect, weight, number, what = line.split("\t")
        kinds.append(Kind(name, moment, expect, int(weight), int(number), what))
    return kinds


class Storm:
    def __init__(self, script, chosen, kinds):
        self.script, self.chosen = script, chosen
        self.kinds = [kind for kind in kinds if chosen.kind in (None, kind.name)]
        if not self.kinds:
            raise SystemExit(f"there is no fault {chosen.kind} here: {', '.join(k.name for k in kinds)}")
        # A short storm has other kinds with another seed.
        self.once = random.Random(chosen.seed).sample(self.kinds, len(self.kinds))
        self.counts = collections.Counter()
        self.measured = {}
        self.failures = 0
        self.lock = threading.Lock()

    def indices(self):
        if self.chosen.only is not None:
            return [self.chosen.only]
        return range(self.chosen.faults)

    def fault(self, index):
        """The kind and the random numbers of a fault: they depend only on the seed and the index."""
        chance = random.Random(f"{self.chosen.seed}.{index}")
        if index < len(self.once):  # each once, then by weight
            return self.once[index], chance
        return chance.choices(self.kinds, [kind.weight for kind in self.kinds])[0], chance

    def injected(self, kind):
        with self.lock:
            self.counts[kind] += 1

    def most(self, name, value, unit):
        with self.lock:
            if value > self.measured.get(name, (float("-inf"), unit))[0]:
                self.measured[name] = (value, unit)

    def fail(self, index, kind, what):
        with self.lock:
            self.failures += 1
            print(f"failure {kind}: {what}; repeat with: {self.script} --seed {self.chosen.seed} "
                  f"--only {index}", flush=True)

    def finish(self):
        for kind in sorted(self.counts):
            print(f"faults {kind} {self.counts[kind]}")
        for name, (value, unit) in self.measured.items():
            print(f"measured {name} {value:.2f} {unit}")
        return 1 if self.failures else 0


class Plan:
    """What the next faulty worker does, and what the workers reported."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder) / "plan"
        self.tally_path = pathlib.Path(folder) / "tally"
        self.environment = {"FAULTY_WORKER": str(self.path),
                            "FAULTY_WORKER_TALLY": str(self.tally_path)}

    def write(self, kind, seed, orders_before):
        self.tally_path.unlink(missing_ok=True)
        partial = self.path.with_suffix(".part")
        partial.write_text(f"{kind} {seed} {orders_before}\n")
        partial.rename(self.path)

    def tally(self):
        """Lines since the last write(), as lists of words."""
        try:
            text = self.tally_path.read_text()
        except FileNotFoundError:
            return []
        return [line.split() for line in text.splitlines()]

    def said(self, word):
        return [line[1:] for line in self.tally() if line and line[0] == word]

    def processes(self):
        """Workers and their children that are still alive."""
        pids = [int(line[0]) for line in self.said("started")]
        pids += [int(line[1]) for line in self.said("child")]
        return [pid for pid in pids if lives(pid)]


def lives(pid):
    """Not a zombie, and not another program with a reused pid."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:]
    return name == "faulty_worker" and not rest.startswith("Z")


def entries(folder):
    try:
        return len(os.listdir(folder))
    except FileNotFoundError:
        return 0
