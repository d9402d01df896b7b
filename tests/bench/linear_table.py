"""The README's table from the rows of `expertscope bench --suite linear --out ROWS`.

    python3 tests/bench/linear_table.py ROWS.jsonl

TFLOP/s at each routing in the order of the rows ("691 / 650"), the largest step above the sum of
its own kernels, what programmatic launches make of a step's time (forward; both passes), and the
peers' fprop with the ratio of ours to each.
"""
import json
import sys

PRODUCTS = ("fprop", "dgrad", "wgrad")


def main():
    with open(sys.argv[1]) as file:
        rows = [json.loads(line) for line in file]
    timed = {(r["preset"], r["subject"], r["part"], r["routing"]): r for r in rows if "part" in r}
    routings = list(dict.fromkeys(r["routing"] for r in rows))
    presets = list(dict.fromkeys(r["preset"] for r in rows))
    subjects = list(dict.fromkeys(r["subject"] for r in rows))
    peers = [s for s in subjects if s.startswith("torch")]
    ours = [s for s in subjects if s not in peers]

    def cells(preset, subject, part, key="tflops", digits=0):
        found = [timed.get((preset, subject, part, routing)) for routing in routings]
        return " / ".join("-" if r is None else f"{r[key]:.{digits}f}" for r in found)

    def programmatic(preset, subject, part):
        found = [(timed.get((preset, subject, f"{part}, programmatic", routing)),
                  timed.get((preset, subject, part, routing))) for routing in routings]
        return " / ".join(f"{o['median_us'] / p['median_us']:.3f}" if o and p else "-"
                          for o, p in found)

    print(f"{rows[0]['device']}, driver {rows[0]['driver']}, cuBLASLt {rows[0]['cublaslt']}, "
          f"{rows[0]['peer'] or 'no peer: ' + str(rows[0]['peer_missing'])}; {' / '.join(routings)}\n")
    print("| preset | recipe | fprop | dgrad | wgrad | step above its kernels | set-up us | "
          "programmatic | fprop of peers (ours of it) |")
    print("|---|---|---|---|---|---|---|---|---|")
    for preset in presets:
        for subject in ours:
            steps = [r["beyond_kernels"] for r in timed.values()
                     if (r["preset"], r["subject"]) == (preset, subject)
                     and r["beyond_kernels"] is not None]
            if not any((preset, subject, "fprop", routing) in timed for routing in routings):
                why = next(r["skipped"] for r in rows
                           if (r["preset"], r["subject"]) == (preset, subject) and "skipped" in r)
                print(f"| {preset} | {subject} | {why} | | | | | | |")
                continue
            beside = []
            for peer in peers:
                pair = [(timed.get((preset, subject, "fprop", routing)),
                         timed.get((preset, peer, "fprop", routing))) for routing in routings]
                ratios = [f"{p['tflops']:.0f} ({o['tflops'] / p['tflops']:.2f})"
                          for o, p in pair if o and p]
                if ratios:
                    beside.append(f"{peer.removeprefix('torch ')} {' / '.join(ratios)}")
            products = " | ".join(cells(preset, subject, part) for part in PRODUCTS)
            above = f"{max(steps) * 100:.2f} %" if steps else "-"
            print(f"| {preset} | {subject} | {products} | {above} | "
                  f"{cells(preset, subject, 'setup', 'median_us', 1)} | "
                  f"{programmatic(preset, subject, 'forward step')}; "
                  f"{programmatic(preset, subject, 'step')} | {'; '.join(beside)} |")
    for row in rows:
        if "skipped" in row:
            print(f"\n{row['preset']}, {row['routing']}, {row['subject']}: {row['skipped']}")


if __name__ == "__main__":
    main()
