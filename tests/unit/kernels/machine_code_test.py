"""Walks and loads of hand-written machine code."""

import os
import sys
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path += [os.path.join(TESTS, "support"), os.path.join(TESTS, "bench")]
import instruction_counts  # noqa: E402
import machine_code  # noqa: E402
from machine_code import Anchor  # noqa: E402


def printed(lines, name="kernel"):
    """As cuobjdump prints them: (text, waits, write barrier)."""
    out = [f"\t\tFunction : {name}"]
    for i, line in enumerate(lines):
        text, waits, barrier = line if isinstance(line, tuple) else (line, 0, machine_code.NO_BARRIER)
        out.append(f"        /*{16 * i:04x}*/   {text} ;   /* 0x0000000000007918 */")
        out.append(f"            /* {(waits << 11 | 7 << 8 | barrier << 5) << 41:#018x} */")
    return "\n".join(out)


def code(lines):
    return machine_code.Code(machine_code.parse(printed(lines))["kernel"])


def texts(of, walk):
    return [of.instructions[i].text for i in walk]


LOOP = [
    "MOV R1, RZ",
    "LDG.E.128 R4, [R2.64]",     # 0x10
    "@P0 BRA 0x50",              # the short way
    "CALL.REL.NOINC 0x90",
    "FADD R4, R4, R5",
    "MUFU.EX2 R6, R4",           # 0x50
    "@P1 BRA 0x50",
    "@!P2 BRA 0x10",
    "EXIT",
    "FMUL R4, R4, R4",           # 0x90, called
    "RET.REL.NODEC R20 0x0",
]


class Walks(unittest.TestCase):
    def test_text_and_control_bits_are_read(self):
        read = machine_code.parse(printed([("@!P0 LDS R3, [R1+0x10]", 0b100010, 3)]))["kernel"][0]
        self.assertEqual((read.address, read.guard, read.opcode, read.operands), (0, "@!P0", "LDS", "R3, [R1+0x10]"))
        self.assertEqual((read.waits, read.write_barrier, read.read_barrier), (0b100010, 3, 7))

    def test_only_functions_of_the_pattern(self):
        both = printed(["EXIT"], "one") + "\n" + printed(["EXIT"], "other")
        self.assertEqual(list(machine_code.parse(both, "^o.h")), ["other"])

    def test_the_short_way_is_taken(self):
        of = code(LOOP)
        walk = machine_code.cheapest_walk(of, 1, [Anchor("MUFU", 1)])
        self.assertEqual(texts(of, walk), ["LDG.E.128 R4, [R2.64]", "@P0 BRA 0x50", "MUFU.EX2 R6, R4", "@P1 BRA 0x50",
                                           "@!P2 BRA 0x10"])

    def test_an_inner_loop_is_walked_as_often_as_the_work_asks_for(self):
        self.assertEqual(len(machine_code.cheapest_walk(code(LOOP), 1, [Anchor("MUFU", 4)])), 3 + 4 * 2)

    def test_a_call_returns_behind_itself(self):
        of = code(LOOP)
        walk = machine_code.cheapest_walk(of, 1, [Anchor("FMUL", 1)])
        self.assertEqual([of.instructions[i].base for i in walk],
                         ["LDG", "BRA", "CALL", "FMUL", "RET", "FADD", "MUFU", "BRA", "BRA"])

    def test_what_is_to_be_avoided_is_avoided(self):
        self.assertIsNone(machine_code.cheapest_walk(code(LOOP), 1, [Anchor("FMUL", 1)], avoid="FADD"))

    def test_a_branch_to_nowhere_else_ends_a_walk(self):
        self.assertIsNone(machine_code.cheapest_walk(code(["FADD R0, R0, R0", "BRA 0x10", "BRA 0x0"]), 0, []))


def unfinished(lines):
    return machine_code.unfinished_loads(code(lines), lambda i: i.base == "LDS", lambda i: i.base == "SYNCS")


class UnfinishedLoads(unittest.TestCase):
    def test_a_load_that_is_waited_for_is_done(self):
        self.assertEqual(unfinished([("LDS R0, [R1]", 0, 2), ("FADD R0, R0, R0", 1 << 2, 7), "SYNCS.ARRIVE R2", "EXIT"]),
                         set())

    def test_waiting_for_another_is_not_enough(self):
        self.assertEqual(unfinished([("LDS R0, [R1]", 0, 2), ("FADD R0, R0, R0", 1 << 3, 7), "SYNCS.ARRIVE R2", "EXIT"]),
                         {(0x20, 0x0)})

    def test_every_path_counts(self):
        self.assertEqual(unfinished([("LDS R0, [R1]", 0, 2), "@P0 BRA 0x30", ("FADD R0, R0, R0", 1 << 2, 7),
                                     "SYNCS.ARRIVE R2", "EXIT"]), {(0x30, 0x0)})

    def test_a_load_without_a_scoreboard_has_the_next_ones(self):
        lines = [("LDS R0, [R1]", 0, 7), ("LDS R3, [R1]", 0, 1), ("FADD R0, R0, R3", 1 << 1, 7), "SYNCS.ARRIVE R2", "EXIT"]
        self.assertEqual(unfinished(lines), set())
        self.assertEqual(unfinished(lines[:1] + lines[2:]), {(0x20, 0x0)})


class Counts(unittest.TestCase):
    def test_classes(self):
        for text, name in (("FFMA R0, R0, R0, R0", "FP32"), ("IMAD.MOV.U32 R0, RZ, RZ, R1", "IMAD"),
                           ("F2FP.BF16.F32.PACK_AB R0, R1, R2", "convert"), ("MUFU.RCP R0, R1", "MUFU"),
                           ("LDS.128 R0, [R4]", "memory"), ("ULDC.64 UR4, c[0x0][0x208]", "control"),
                           ("LOP3.LUT R0, R1, R2, RZ, 0xc0, !PT", "integer"), ("HMNMX2.BF16_V2 R0, R1, R2", "integer")):
            self.assertEqual(instruction_counts.class_of(code([text]).instructions[0]), name, text)

    def test_the_slowest_class_or_issue_limits(self):
        limits = instruction_counts.cycles_per_element({"MUFU": 4, "FP32": 20}, elements=2)
        self.assertEqual(limits, {"issue": 12 / 128, "MUFU": 2 / 16, "FP32": 10 / 128})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
