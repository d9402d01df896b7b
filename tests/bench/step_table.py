"""The README's tables from the rows of `expertscope bench --suite linear|layer --out ROWS`.

    python3 tests/bench/step_table.py ROWS.jsonl

Of layers: milliseconds of a step that quantizes its weights and of one that keeps them, from how
many micro-batches on the recipe beats BF16, and the time of torch's layer of the same recipe divided
by ours: step / step with weights kept. First of steps that begin and end at rows, in a second table
of those from tokens, with the permutation in them on both sides. Rows made before there were such
steps have torch's permutation added to both sides in place of the second table.

Of linear steps: TFLOP/s at each routing in the order of the rows ("691 / 650"), the largest step above the sum of
its own kernels, and the peers' fprop with the ratio of ours to each.
"""
import json
import sys

PRODUCTS = ("fprop", "dgrad", "wgrad")


# Ours and torch's layer that computes the same.
SAME_RECIPE = {"bf16": "torch bf16", "fp8-per-tensor": "torch fp8 split", "fp8-per-tensor-fast": "torch fp8 fast"}


def layers(rows):
    timed = {(r["preset"], r["routing"], r["subject"].split(",")[0], r["part"]): r for r in rows if "part" in r}
    named = (r["subject"].partition(",") for r in rows if r["subject"].startswith("torch"))
    ways = {way.strip() for _, comma, way in named if comma}
    cases = list(dict.fromkeys((r["preset"], r["routing"]) for r in rows))
    subjects = list(dict.fromkeys(r["subject"].split(",")[0] for r in rows))
    if ways:
        print(f"torch: {'; '.join(sorted(ways))}\n")

    def table(step_part, of_preset="", permutation=False):
        """Lines of one pair of parts; `permutation`: with a column where torch's is added to both sides."""
        parts = step_part, f"{step_part}, weights kept"
        print(f"| preset, routing{of_preset} | recipe | {step_part}, ms | weights kept, ms | beats BF16 | "
              f"torch's time / ours |{' permutation added |' if permutation else ''}")
        print("|---|---|---|---|---|---|" + ("---|" if permutation else ""))
        for preset, routing in cases:
            def us(subject, part):
                return timed.get((preset, routing, subject, part), {}).get("median_us")

            for subject in subjects:
                step, kept = (us(subject, part) for part in parts)
                if step is None:
                    continue
                of_step = timed[preset, routing, subject, step_part]
                of_kept = timed.get((preset, routing, subject, parts[1]), {})
                beats = of_kept.get("beats_bf16_from")
                beats = "-" if beats is None else f"from {beats}" if beats else "never"
                peer = SAME_RECIPE.get(subject)
                pairs = [(us(peer, part), us(subject, part)) for part in parts] if peer else []
                pairs = [pair for pair in pairs if None not in pair]

                def ratios(added):
                    if added is None:
                        return "-"
                    return " / ".join(f"{(theirs + added) / (ours + added):.2f}" for theirs, ours in pairs) or "-"

                top_k = f", top-{of_step['top_k']}" if of_preset else ""
                line = [f"{preset}, {routing}{top_k}", subject, f"{step / 1e3:.2f}",
                        "-" if kept is None else f"{kept / 1e3:.2f}", beats, ratios(0.0)]
                if permutation:
                    line.append(ratios(us("torch bf16", "permutation")))
                print(f"| {' | '.join(line)} |")

    from_tokens = any(part == "step from tokens" for _, _, _, part in timed)
    table("step", permutation=not from_tokens)
    if from_tokens:
        print()
        table("step from tokens", of_preset=", top-k")


def linear_steps(rows):
    timed = {(r["preset"], r["subject"], r["part"], r["routing"]): r for r in rows if "part" in r}
    routings = list(dict.fromkeys(r["routing"] for r in rows))
    presets = list(dict.fromkeys(r["preset"] for r in rows))
    subjects = list(dict.fromkeys(r["subject"] for r in rows))
    peers = [s for s in subjects if s.startswith("torch")]
    ours = [s for s in subjects if s not in peers]

    def cells(preset, subject, part):
        found = [timed.get((preset, subject, part, routing)) for routing in routings]
        return " / ".join("-" if r is None else f"{r['tflops']:.0f}" for r in found)

    print("| preset | recipe | fprop | dgrad | wgrad | step above its kernels | fprop of peers (ours of it) |")
    print("|---|---|---|---|---|---|---|")
    for preset in presets:
        for subject in ours:
            steps = [r["beyond_kernels"] for r in timed.values()
                     if (r["preset"], r["subject"]) == (preset, subject)
                     and r["beyond_kernels"] is not None]
            if not any((preset, subject, "fprop", routing) in timed for routing in routings):
                why = next(r["skipped"] for r in rows
                           if (r["preset"], r["subject"]) == (preset, subject) and "skipped" in r)
                print(f"| {preset} | {subject} | {why} | | | | |")
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
            print(f"| {preset} | {subject} | {products} | {above} | {'; '.join(beside)} |")


def main():
    with open(sys.argv[1]) as file:
        rows = [json.loads(line) for line in file]
    routings = list(dict.fromkeys(r["routing"] for r in rows))
    print(f"{rows[0]['device']}, driver {rows[0]['driver']}, cuBLASLt {rows[0]['cublaslt']}, "
          f"{rows[0]['peer'] or 'no peer: ' + str(rows[0]['peer_missing'])}; {' / '.join(routings)}\n")
    (layers if rows[0]["suite"] == "layer" else linear_steps)(rows)
    for row in rows:
        if "skipped" in row:
            print(f"\n{row['preset']}, {row['routing']}, {row['subject']}: {row['skipped']}")


if __name__ == "__main__":
    main()
