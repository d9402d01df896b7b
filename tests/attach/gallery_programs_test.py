"""The mistakes of the gallery in programs that know nothing of Expertscope: each is attached to and found, or the reason why
nothing can be seen of it stands here; its healthy twin is clean.

Arguments: expertscope, the folder with the stub and the programs."""

import subprocess
import unittest

from attached_programs import FOLDER, PROGRAM, AttachCase, command, environment

LIKELY = "likely"
POSSIBLE = "possible"
COMPARED = ["--compare-memory"]
# case: (program, its rule, confidence, twin, options)
FOUND = {
    "shared-workspace": ("workspace-shared", "shared-workspace", LIKELY, "workspace-for-each", []),
    "flag-not-reset": ("flag-carried-over", "carried-over", POSSIBLE, "flag-reset", COMPARED),
    "workspace-freed": ("freed", "freed-memory", LIKELY, "freed-at-the-end", []),
    "workspace-regrown": ("workspace-regrown", "freed-memory", LIKELY, "workspace-large-enough", []),
    "pool-alias": ("pool-alias", "pool-alias", LIKELY, "healthy", []),
    "allocation-without-free": ("allocation-without-free", "unfreed-allocation", LIKELY, "memory-nodes", []),
    "host-source-reused": ("host-source-freed", "dead-host-source", LIKELY, "host-source-kept", []),
    "scalar-baked": ("frozen-seed", "frozen-value", POSSIBLE, "seed-in-memory", []),
    "programmatic-without-wait": ("early-start-unwaited", "programmatic-without-wait", LIKELY, "early-start-waited", []),
    "unordered-siblings": ("unordered-siblings", "unordered-access", LIKELY, "ordered-siblings", []),
    "freed-before-use": ("used-after-free-node", "used-after-free-node", LIKELY, "memory-nodes", []),
    "missing-join": ("fork-not-joined", "unjoined-capture", LIKELY, "fork-joined", []),
    "sync-in-capture": ("waits", "sync-in-capture", LIKELY, "healthy", []),
    "saved-tensor-freed": ("tensor-of-another", "freed-memory", LIKELY, "tensor-kept", []),
}
# What only roles, contents or the driver's inside would tell.
UNSEEN = {
    "host-pointer-array": "that the copied words are addresses of experts, and that the host changes them, is in no call",
    "splits-baked": "a grid that should have been another one leaves no value to compare",
    "lazy-load-in-capture": "the driver loads the kernel inside of the launch",
    "concurrent-workspace": "which of the shared memory is scratch that both write needs a role",
    "replays-out-of-order": "what one graph saves for another needs a role",
    "one-scale-for-all": "that an argument is the place of an expert's scale needs a role",
}
LIBRARY = {"SUBJECT_LIBRARY": str(FOLDER / "libcublasLt.so.13"), "STUB_CUBLASLT_VERSION": "130501"}


class GalleryPrograms(AttachCase):
    def found(self, scenario, options, expect):
        self.setUp()
        reports, err = self.attach(command(scenario), *options, expect=expect, **LIBRARY)
        self.assertIn("ended with exit code 0", err)
        self.assertEqual(len(reports), 1)
        return [(one["rule"], one["confidence"]) for report in reports for one in report["findings"]]

    def test_each_case_has_its_program_or_a_reason(self):
        listed = subprocess.run([PROGRAM, "doctor", "--list"], capture_output=True, text=True, check=True,
                                env=environment()).stdout
        table = listed.split("\n\n")[0].splitlines()[1:]
        self.assertEqual(sorted([*FOUND, *UNSEEN]), sorted(line.split()[0] for line in table))

    def test_programs_are_found_and_their_twins_are_clean(self):
        for case, (program, rule, confidence, twin, options) in FOUND.items():
            with self.subTest(case=case):
                expect = 1 if confidence == LIKELY else 0
                self.assertEqual(self.found(program, options, expect), [(rule, confidence)])
                self.assertEqual(self.found(twin, options, 0), [])


if __name__ == "__main__":
    unittest.main()
