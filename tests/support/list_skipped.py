"""Lists the skipped tests of a ctest JUnit report, each by name with the reason it gave."""

import sys
import xml.etree.ElementTree


def reason_of(case):
    """GoogleTest prints 'file:line: Skipped' and the reason on the next line."""
    lines = (case.findtext("system-out") or "").splitlines()
    for position, line in enumerate(lines[:-1]):
        if line.endswith(": Skipped") and lines[position + 1].strip():
            return lines[position + 1].strip()
    for line in lines:
        if "skipped" in line.lower():
            return line.strip()
    message = case.find("skipped").get("message", "")
    return message or "no reason was printed"


def main():
    cases = xml.etree.ElementTree.parse(sys.argv[1]).iter("testcase")
    skipped = [case for case in cases if case.find("skipped") is not None]
    if skipped:
        print(f"\nSkipped tests ({len(skipped)}):")
    for case in skipped:
        print(f"  {case.get('name')}: {reason_of(case)}")


if __name__ == "__main__":
    main()
