"""Machine code of compiled kernels as a graph of instructions: what cuobjdump prints, and the cheapest walk through it.

A walk is a sequence of instructions that control flow permits, calls and returns included. The cheapest one that does
a given amount of work (`Anchor`: so many conversions, so many loads) is a lower limit of what a warp issues for it, and
needs no guess about which branch is taken.
"""

import heapq
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import unittest
from dataclasses import dataclass

LINE = re.compile(r"/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?(\S+)\s*([^;]*);\s*/\* (0x[0-9a-f]+) \*/")
SECOND_WORD = re.compile(r"^\s*/\* (0x[0-9a-f]+) \*/\s*$")
TARGET = re.compile(r"0x([0-9a-f]+)")
ENDS = ("EXIT", "RET", "BRX", "KILL", "BPT", "JMX")
NO_BARRIER = 7
SKIP = 77  # the exit code of a skipped test


@dataclass
class Instruction:
    address: int
    guard: str  # "@!P0", or empty
    opcode: str  # with its modifiers
    operands: str
    # Control bits: the scoreboards that it waits for (a mask), and the one that its result or the reading of its operands
    # releases (7 = none).
    waits: int = 0
    write_barrier: int = NO_BARRIER
    read_barrier: int = NO_BARRIER

    @property
    def text(self):
        return " ".join(part for part in (self.guard, self.opcode, self.operands) if part)

    @property
    def base(self):
        return self.opcode.split(".")[0]

    @property
    def target(self):
        """Where a branch or call goes: the last number among its operands."""
        if self.base not in ("BRA", "CALL", "BSSY"):
            return None
        found = TARGET.findall(self.operands)
        return int(found[-1], 16) if found else None


def tool_folder():
    """Of cuobjdump and nvdisasm: CUOBJDUMP_FOLDER, this Python's packages (tests/support/requirements.txt), or on PATH;
    None if there are none."""
    packages = os.path.join(sysconfig.get_path("purelib"), "nvidia", "cu13", "bin")
    for folder in (os.environ.get("CUOBJDUMP_FOLDER", ""), packages):
        if folder and os.access(os.path.join(folder, "cuobjdump"), os.X_OK):
            return folder
    found = shutil.which("cuobjdump")
    return os.path.dirname(found) if found else None


def main():
    """Runs the tests of the script that calls, or skips them by name where the tools are missing."""
    if tool_folder() is None:
        print("skipped: cuobjdump is not installed")
        sys.exit(SKIP)
    unittest.main(argv=sys.argv[:1], verbosity=2)


def cuobjdump(*arguments):
    folder = tool_folder()
    return subprocess.run([os.path.join(folder, "cuobjdump"), *arguments], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True,
                          env=dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"])).stdout


def stack_bytes(path):
    """{symbol: bytes of the stack of a thread}, of all kernels; takes a fraction of a second."""
    found = re.findall(r"Function (\S+):\s+REG:\d+ STACK:(\d+)", cuobjdump("-res-usage", path))
    return {symbol: int(stack) for symbol, stack in found}


def disassembled(path, pattern):
    """Of the kernels whose symbols match. All of the library's take a minute."""
    symbols = [symbol for symbol in stack_bytes(path) if re.search(pattern, symbol)]
    return cuobjdump("-sass", "-fun", ",".join(symbols), path) if symbols else ""


def parse(text, pattern=""):
    """{symbol: [Instruction]} of the functions whose symbol contains `pattern` (a regular expression)."""
    functions = {}
    instructions = None
    for line in text.splitlines():
        if name := re.search(r"Function : (\S+)", line):
            instructions = functions.setdefault(name.group(1), []) if re.search(pattern, name.group(1)) else None
        elif instructions is None:
            continue
        elif found := LINE.search(line):
            address, guard, opcode, operands, _ = found.groups()
            instructions.append(Instruction(int(address, 16), (guard or "").strip(), opcode, operands.strip()))
        elif instructions and (found := SECOND_WORD.search(line)):
            control = int(found.group(1), 16) >> 41
            last = instructions[-1]
            last.write_barrier = control >> 5 & 7
            last.read_barrier = control >> 8 & 7
            last.waits = control >> 11 & 0x3F
    return functions


class Code:
    """One function, and what may follow each of its instructions."""

    def __init__(self, instructions):
        self.instructions = instructions
        self.index = {instruction.address: i for i, instruction in enumerate(instructions)}

    def successors(self, i):
        """Inside the function a call is in: positions, without those of the function that is called."""
        instruction = self.instructions[i]
        following = [i + 1] if i + 1 < len(self.instructions) else []
        if instruction.base == "BRA":
            target = self.index.get(instruction.target)
            to = [] if target is None else [target]
            # "BRA.U UP0" and "BRA P0" have their condition among the operands.
            conditional = instruction.guard or re.search(r"\bU?P\d", instruction.operands) or ".DIV" in instruction.opcode
            return to + following if conditional else to
        if instruction.base in ENDS:
            return following if instruction.guard else []
        return following

    def reachable(self, without=None):
        """Positions that the function's entry leads to, also through calls, without passing `without`."""
        seen = set()
        pending = [0]
        while pending:
            i = pending.pop()
            if i in seen or i == without:
                continue
            seen.add(i)
            pending += self.successors(i)
            if self.instructions[i].base == "CALL" and self.instructions[i].target in self.index:
                pending.append(self.index[self.instructions[i].target])
        return seen

    def leading_to(self, end):
        """Positions of the function that `end` is in from which it can be reached."""
        before = {}
        for i in range(len(self.instructions)):
            for following in self.successors(i):
                before.setdefault(following, []).append(i)
        seen = set()
        pending = [end]
        while pending:
            i = pending.pop()
            if i not in seen:
                seen.add(i)
                pending += before.get(i, [])
        return seen

    def loops(self):
        """(first, last) positions of every backward branch's target and of the branch, where the target is on every way
        to the branch: one that comes back from code placed behind the function's end closes no loop."""
        found = []
        for i, instruction in enumerate(self.instructions):
            if instruction.base == "BRA":
                target = self.index.get(instruction.target)
                if target is not None and target < i and i not in self.reachable(without=target):
                    found.append((target, i))
        return found

    def steps(self, i, stack):
        """Of a walk: (position, stack of return positions) that may follow."""
        instruction = self.instructions[i]
        if instruction.base == "CALL" and (target := self.index.get(instruction.target)) is not None and len(stack) < 8:
            called = [(target, stack + (i + 1,))]
            return called + [(i + 1, stack)] if instruction.guard else called
        if instruction.base == "RET":
            returned = [(stack[-1], stack[:-1])] if stack else []
            return returned + [(i + 1, stack)] if instruction.guard else returned
        return [(following, stack) for following in self.successors(i)]


@dataclass
class Anchor:
    """Instructions of which a walk issues at least `count`."""

    pattern: str
    count: int

    def matches(self, instruction):
        return re.search(self.pattern, instruction.text) is not None


def cheapest_walk(code, begin, anchors, avoid=None):
    """Positions of the shortest walk from `begin` back to it, `begin` once, that issues what the anchors ask for; None if
    there is none. It issues no instruction that matches `avoid`. Straight lines are walked in one step."""
    matching = [[k for k, anchor in enumerate(anchors) if anchor.matches(instruction)]
                for instruction in code.instructions]
    goal = tuple(anchor.count for anchor in anchors)
    returning = code.leading_to(begin)

    def counted(counts, i):
        if not matching[i]:
            return counts
        more = list(counts)
        for k in matching[i]:
            more[k] += 1
        return tuple(more)

    def stretch(i):
        """The last position of the straight line from i, and its anchors; None if it is to be avoided."""
        counts = counted((0,) * len(goal), i)
        while True:
            if avoid and re.search(avoid, code.instructions[i].text):
                return None
            if code.instructions[i].base in ("BRA", "CALL", "RET", "EXIT") or i + 1 >= len(code.instructions):
                return i, counts
            if i + 1 == begin:
                return i, counts
            i += 1
            counts = counted(counts, i)

    stretches = {}
    state = (begin, (), (0,) * len(goal))
    queue = [(0, 0, state)]
    before = {state: None}
    cost = {state: 0}
    order = 0
    while queue:
        length, _, state = heapq.heappop(queue)
        if length > cost[state]:
            continue
        i, stack, counts = state
        if i == begin and length > 0:
            if counts == goal and not stack:
                return unrolled(state, before, stretches)
            continue
        if i not in stretches:
            stretches[i] = stretch(i)
        if stretches[i] is None:
            continue
        last, more = stretches[i]
        total = tuple(min(a + b, c) for a, b, c in zip(counts, more, goal))
        for following, after in code.steps(last, stack):
            if not after and following not in returning:
                continue
            reached = (following, after, total)
            new = length + last - i + 1
            if new < cost.get(reached, 1 << 60):
                cost[reached] = new
                before[reached] = state
                order += 1
                heapq.heappush(queue, (new, order, reached))
    return None


def unrolled(state, before, stretches):
    walk = []
    while (earlier := before[state]) is not None:
        i = earlier[0]
        walk.append(range(i, stretches[i][0] + 1))
        state = earlier
    return [position for part in reversed(walk) for position in part]


def unfinished_loads(code, is_load, is_arrival):
    """{(address of an arrival, address of a load)}: loads whose value may not be in its register yet when the warp issues
    the arrival, on some path. Instructions issue in order, and one that waits for a scoreboard issues when every load
    that was given it is done. A load without a scoreboard shares that of the next load: they finish in order."""
    states = {0: frozenset()}
    found = set()
    pending = [0]
    while pending:
        i = pending.pop()
        instruction = code.instructions[i]
        state = {(barrier, load) for barrier, load in states[i]
                 if barrier == NO_BARRIER or not instruction.waits >> barrier & 1}
        if is_arrival(instruction):
            found |= {(instruction.address, load) for _, load in state}
        if is_load(instruction):
            barrier = instruction.write_barrier
            if barrier != NO_BARRIER:
                state = {(barrier if of == NO_BARRIER else of, load) for of, load in state}
            state.add((barrier, instruction.address))
        for following in code.successors(i):
            before = states.get(following)
            joined = frozenset(state) if before is None else before | state
            if joined != before:
                states[following] = joined
                pending.append(following)
    return found
