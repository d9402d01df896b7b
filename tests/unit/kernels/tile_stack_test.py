"""Kernels that make tiles of what an activation makes keep next to nothing on the stack: beside three blocks' tiles there
is no room for it in L1, so it goes to L2 and back for every tile (kernels/common/tile.cuh).

Run: tile_stack_test.py LIBRARY"""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
import machine_code  # noqa: E402

LIBRARY = sys.argv[1]
LIMIT = 64  # bytes of a thread
INSTANCE = re.compile(r"11tile_kernelI.*?InputTypeE(\d).*TileInputE(\d)")
FP32 = "2"  # kernels::InputType; its tiles leave room for fewer blocks, which have more registers
FUSED = ("1", "2")  # kernels::tiles::TileInput: SwiGLU and its gradient; the others call their activation


class TileStacks(unittest.TestCase):
    def test_fused_swiglu_keeps_little_on_the_stack(self):
        checked = 0
        for symbol, stack in machine_code.stack_bytes(LIBRARY).items():
            instance = INSTANCE.search(symbol)
            if instance and instance.group(1) != FP32 and instance.group(2) in FUSED:
                checked += 1
                self.assertLessEqual(stack, LIMIT, symbol)
        # Two types, two formats, value and gradient; per tensor, 1x128, 128x128, MXFP8.
        self.assertEqual(checked, 2 * 2 * 2 * 4)


if __name__ == "__main__":
    machine_code.main()
