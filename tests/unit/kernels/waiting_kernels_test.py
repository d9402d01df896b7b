"""The kernels that are said to wait for their predecessor do, before they touch global memory, and
no other product kernel does: read from the machine code of the library."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import machine_code  # noqa: E402

LIBRARY, HEADER = sys.argv[1:3]

WAIT = "ACQBULK"  # griddepcontrol.wait
MEMORY = re.compile(r"\b(LDG|STG|LD|ST|ATOM|ATOMG|RED|REDG|UTMALDG|UTMASTG|UBLKCP|LDGSTS|CCTL)\b")
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?);")
HAZARDS = ("hazard", "dependent_kernel", "early_trigger")  # the gallery's own


def disassembled():
    """[(symbol, first wait, first access of global memory)]; positions, None = there is none."""
    kernels = []
    for line in machine_code.cuobjdump("-sass", LIBRARY).splitlines():
        if name := re.search(r"Function : (\S+)", line):
            kernels.append([name.group(1), None, None])
            position = 0
        elif kernels and (instruction := INSTRUCTION.search(line)):
            position += 1
            if WAIT in instruction.group(1) and kernels[-1][1] is None:
                kernels[-1][1] = position
            if MEMORY.search(instruction.group(1)) and kernels[-1][2] is None:
                kernels[-1][2] = position
    return kernels


class WaitingKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(HEADER, encoding="utf-8") as header:
            cls.listed = re.findall(r'^ +"(\d+\w+_kernel)"', header.read(), re.MULTILINE)
        cls.kernels = disassembled()

    def is_listed(self, symbol):
        return any(name in symbol for name in self.listed)

    def test_every_listed_kernel_waits_before_it_touches_memory(self):
        for name in self.listed:
            of_name = [kernel for kernel in self.kernels if name in kernel[0]]
            self.assertTrue(of_name, f"{name}: no such kernel in the library")
            for symbol, wait, access in of_name:
                self.assertIsNotNone(wait, f"{symbol} does not wait")
                self.assertLess(wait, access, f"{symbol} touches memory before it waits")

    def test_every_kernel_that_waits_is_listed(self):
        unlisted = [symbol for symbol, wait, _ in self.kernels
                    if wait is not None and not self.is_listed(symbol)
                    and not any(hazard in symbol for hazard in HAZARDS)]
        self.assertEqual(unlisted, [])


if __name__ == "__main__":
    machine_code.main()
