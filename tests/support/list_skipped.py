"""Lists the skipped tests of a ctest JUnit report, each by name with its reason. In a GoogleTest
program that ctest runs as one test, skipped cases are listed individually."""

import re
import sys
import xml.etree.ElementTree

GTEST_REASON = re.compile(r": Skipped$")
GTEST_CASE = re.compile(r"^\[  SKIPPED \] (\S+\.\S+) \(\d+ ms\)$")


def skipped_cases(lines):
    """GoogleTest prints 'file:line: Skipped', the reason on the next line, then the case's name."""
    reason = ""
    for position, line in enumerate(lines):
        if GTEST_REASON.search(line) and position + 1 < len(lines):
            reason = lines[position + 1].strip()
        elif name := GTEST_CASE.match(line):
            yield name.group(1), reason
            reason = ""


def reason_of(case, lines):
    for line in lines:
        if "skipped" in line.lower():
            return line.strip()
    return case.find("skipped").get("message", "")


def skipped_tests(report):
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        lines = (case.findtext("system-out") or "").splitlines()
        cases = list(skipped_cases(lines))
        if cases:
            yield from cases
        elif case.find("skipped") is not None:
            yield case.get("name"), reason_of(case, lines)


def main():
    skipped = list(skipped_tests(sys.argv[1]))
    if skipped:
        print(f"\nSkipped tests ({len(skipped)}):")
    for name, reason in skipped:
        print(f"  {name}: {reason or 'no reason was printed'}")


if __name__ == "__main__":
    main()
