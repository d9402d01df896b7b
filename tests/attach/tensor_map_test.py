"""`expertscope attach` on programs whose kernels get their memory through tensor maps, whose bytes show no address.

Arguments: expertscope, the folder with the stub and the programs."""

import unittest

from attached_programs import WAYS, AttachCase


class TensorMaps(AttachCase):
    def found(self, scenario, way="getproc"):
        self.setUp()
        finding, = self.findings(scenario, way)
        self.assertEqual((finding["rule"], finding["confidence"]), ("freed-memory", "likely"))
        self.assertEqual(finding["nodes"], [[0, 0]])
        access, = finding["accesses"]
        self.assertEqual(access["place"], "tensor map at parameter byte 64")
        self.assertIn("The address was encoded in the tensor map at parameter byte 64 of node 0 (tma_scale).", finding["evidence"])
        return finding["title"]

    def test_memory_behind_a_map_that_is_freed(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.assertRegex(self.found("tensor-map-freed", way),
                                 r'^"cudaMalloc 3" \(1 MiB\) is freed, but node 0 \(tma_scale\) holds its address$')

    def test_the_map_of_a_changed_node_and_one_with_another_address(self):
        for way in WAYS:
            with self.subTest(way=way):
                self.assertRegex(self.found("tensor-map-updated-freed", way), '^"cudaMalloc 4" ')
                self.assertRegex(self.found("tensor-map-readdressed", way), '^"cudaMalloc 4" ')

    def test_healthy_twins_are_clean(self):
        for scenario in ["tensor-map-kept", "tensor-map-updated"]:
            for way in WAYS:
                with self.subTest(scenario=scenario, way=way):
                    self.setUp()
                    self.assertEqual(self.findings(scenario, way, expect=0), [])

    def test_a_program_may_encode_more_maps_than_are_kept(self):
        self.found("many-tensor-maps")


if __name__ == "__main__":
    unittest.main()
