"""The M-grouped kernels have read a stage before they give it back: when a warp issues its arrival at a stage's empty
barrier, the value of every load from shared memory before it is in its register, on every path. Read from the machine
code of the library, since __syncwarp() leaves no instruction there.

Run: stage_reads_test.py LIBRARY"""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import machine_code  # noqa: E402

LIBRARY = sys.argv[1]
INSTANCES = 12  # two formats of X, three output types, two tiles


def is_load(instruction):
    return instruction.base == "LDS"


def is_arrival(instruction):
    """At a barrier of any block of the cluster: only empty barriers are met that way."""
    return instruction.opcode.startswith("SYNCS.ARRIVE.TRANS64.RED")


class StageReads(unittest.TestCase):
    def test_every_load_is_done_when_a_stage_is_given_back(self):
        kernels = machine_code.parse(
            machine_code.disassembled(LIBRARY, "m_grouped_block_kernel"), "m_grouped_block_kernel")
        self.assertEqual(len(kernels), INSTANCES)
        for symbol, instructions in kernels.items():
            with self.subTest(symbol):
                self.assertTrue(any(map(is_load, instructions)))
                self.assertTrue(any(map(is_arrival, instructions)))
                unfinished = machine_code.unfinished_loads(machine_code.Code(instructions), is_load, is_arrival)
                self.assertEqual([f"load {load:#x}, arrival {arrival:#x}" for arrival, load in sorted(unfinished)], [])


if __name__ == "__main__":
    machine_code.main()
