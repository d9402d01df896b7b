#!/usr/bin/env python3
"""Do two versions of the program give the same results, byte for byte?

Sends the same requests through two builds, each with its own command line and worker, so that their protocols may
differ: 62 runs (linear steps and expert layers, every recipe, all passes, routings, element types, from tokens) with a
comparison of all recipes and a history of delayed scaling, kept as a recording, and 12 dumps of quantized operands in
both directions.
Recordings are compared table by table and column by column, by name, dumps file by file. Measured times are left out.
What a version decides differently on purpose (effective settings, deviations, columns that only one of them has) is
listed and does not count. Runs on the CPU and needs no GPU, unless --device is given.
"""

import argparse
import filecmp
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

# In the order of their numbers in requests, which every version has; their names there differ.
RECIPES = ["bf16", "fp8-per-tensor", "fp8-block", "fp8-delayed", "mxfp8", "nvfp4"]
DUMPED = ["fp8-per-tensor", "fp8-block", "mxfp8", "nvfp4"]
DUMPS = [("activations", [100, 0, 92]), ("activations", [64, 64, 64]), ("weights", None)]  # operand, tokens per expert
# Tables of which only the number of rows must be equal: their contents are times, or in the order of times.
TIMED_TABLES = {"records", "names", "host_calls", "host_events", "launch_shapes", "memory_events", "power_samples",
                "iterations", "expert_timings", "observer_timings", "tiled_launches", "launch_tiles", "comparison_times", "comparison_copies", "time_notes"}
TIMED_ENDINGS = ("_ns", "_us", "_ms", "_seconds", "_per_s")
SETTINGS_TABLES = {"deviations", "comparison_recipes"}
SETTINGS_ENDINGS = ("_json", "pow2_scales", "amax_epsilon")
# An operand that a pass does not have: some versions keep its row, empty.
NOT_EMPTY = {"operands": "WHERE elements > 0",
             "histograms": "WHERE (run_id, tensor) IN (SELECT run_id, tensor FROM operands WHERE elements > 0)"}
# What belongs to a tensor of a run. Older versions have a name for each of six operands, and other tables for the tensors
# of expert layers.
OF_TENSORS = ("operands", "histograms", "histogram_bins", "operand_experts", "scale_map_experts", "error_sources")
# Fields of a request that were renamed, with their former names.
FIELDS = (("rows", "tokens"), ("weight_reuse", "micro_batches"))
OPERANDS = {"activations": "x", "weights": "w-up", "activated": "a", "down_weights": "w-down", "gradients": "dy",
            "inner_gradients": "dh"}
# Former names of enumerators and columns.
RENAMED = {"X": "activations", "W": "weights", "dY": "gradients", "host span": "host-span",
           "number": "fixed-count", "known": "converged", "most": "max-iterations"}


def request(recipe="fp8-block", passes="forward", recipe_fields=None, shape=None, **fields):
    return {"shape": {"num_experts": 4, "rows": 192, "n": 128, "k": 256, **(shape or {})},
            "recipe": {"scaling": recipe, **(recipe_fields or {})}, "backend": "cpu-reference",
            "launch": {"iterations": 2}, "seed": 7, **fields, "products": {"passes": passes, **fields.get("products", {})}}


def requests():
    both = "forward-backward"
    made = [request(recipe, passes) for recipe in RECIPES for passes in ("forward", both)]
    made += [request(routing={"distribution": routing})
             for routing in ("zipf", "one-hot", "half-empty", "heavy")]
    made += [request(activations={"synthetic": {"distribution": distribution, "element": element}})
             for distribution, element in (("heavy-tailed", "fp32"), ("uniform", "fp16"), ("zeros", "bf16"),
                                           ("non-finite", "bf16"))]
    made += [
        request(recipe_fields={"pow2_scales": False, "amax_epsilon": 0.5}),
        request(recipe_fields={"activation_format": "e5m2"}),
        request("nvfp4", both, {"hadamard": False, "stochastic_rounding": False}),
        request("mxfp8", both, {"square_weight_blocks": False}),
        request("fp8-delayed", both, {"delayed": {"history_length": 3, "margin": 1, "algorithm": "most-recent"}}),
        request("fp8-block", both, products={"bias": True, "weight_storage": "list"}),
        request("fp8-block", both, products={"weight_reuse": 2, "accumulate_wgrad": True, "wgrad_type": "fp32"}),
        request("fp8-per-tensor", layers=2, shape={"rows": 64}),
        request("nvfp4", both, {"stochastic_rounding": True}, layers=2, products={"bias": True}),
        request("fp8-delayed", both, layers=2, products={"delayed_wgrad": True, "accumulate_wgrad": True}),
        request("bf16", both, layers=2, products={"bias": True},
                activations={"synthetic": {"distribution": "normal", "element": "fp32"}}),
    ]
    made += [request(recipe, "backward") for recipe in ("bf16", "fp8-block", "fp8-delayed")]
    return made + layer_requests()


def layer(recipe="fp8-block", passes="forward-backward", options=None, **fields):
    made = request(recipe, passes, **fields)
    return {**made, "step": "expert-layer", "expert_layer": options or {}}


def layer_requests():
    made = [layer(recipe, passes) for recipe in RECIPES for passes in ("forward", "forward-backward")]
    made += [layer(recipe, "backward") for recipe in ("bf16", "fp8-block", "fp8-delayed")]
    made += [layer(recipe, options={"top_k": 2}) for recipe in ("bf16", "fp8-block", "mxfp8")]
    made += [
        layer("bf16", options={"recompute_activation": True}),
        layer(options={"recompute_activation": True, "fused_activation": False, "top_k": 2}),
        layer("fp8-delayed", options={"recompute_activation": True}, layers=2),
        layer("fp8-delayed", "backward", options={"recompute_activation": True, "fused_activation": False}, layers=2),
        layer("bf16", "backward", options={"top_k": 3}),
        layer(options={"fused_activation": False, "activation": "geglu"}, products={"bias": True}),
        layer("nvfp4", recipe_fields={"stochastic_rounding": True}, layers=2, products={"bias": True}),
        layer(options={"mixed_recipes": True, "down_scaling": "bf16"}, products={"delayed_wgrad": True}, layers=2),
        layer("bf16", options={"activation": "relu"}, products={"delayed_wgrad": True, "accumulate_wgrad": True},
              layers=3, routing={"distribution": "half-empty"}),
        layer(products={"weight_reuse": 2, "bias": True}, layers=2, routing={"distribution": "one-hot"}),
    ]
    return made


def write_npy(path, rows, columns):
    """Normal values of a fixed seed as float32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117) + "\n"
    dice = random.Random(11)
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{rows * columns}f", *(dice.gauss(0, 1) for _ in range(rows * columns))))


class Version:
    def __init__(self, folder, scratch, name, device):
        self.program = os.path.join(folder, "expertscope")
        self.folder = os.path.join(scratch, name)
        self.backend = "cuda" if device else "cpu"
        os.mkdir(self.folder)
        help_text = subprocess.run([self.program, "run", "--help"], capture_output=True, text=True, check=True).stdout
        self.former_names = "--shape.rows" not in help_text

    def log(self, wanted, scratch):
        """The requests with the names that this version has for their fields."""
        lines = "".join(json.dumps(one) + "\n" for one in wanted)
        if self.former_names:
            for name, former in FIELDS:
                lines = lines.replace(f'"{name}":', f'"{former}":')
        path = os.path.join(scratch, f"{os.path.basename(self.folder)}.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            file.write(lines)
        return path

    def call(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments), "--worker-backend", self.backend],
                              capture_output=True, text=True, timeout=600, check=False)
        if done.returncode != 0:
            sys.exit(f"{self.program} {' '.join(map(str, arguments))} failed:\n{done.stderr}")

    def record(self, log):
        path = os.path.join(self.folder, "all.session")
        self.call("run", "--requests", log, "--record", path, "--with_comparison", "--with_history", 12)
        return path

    def dump(self, recipe, operand, splits, scratch):
        folder = os.path.join(self.folder, f"{recipe} {operand} {splits}")
        if splits is None:
            split = ["--num_experts", 3]
        else:
            split = ["--splits", os.path.join(scratch, "splits.json")]
            with open(split[1], "w", encoding="utf-8") as file:
                json.dump(splits, file)
        self.call("quantize", "--input", os.path.join(scratch, "x.npy"), "--recipe", recipe, "--operand", operand,
                  "--direction", "both", "--dump", folder, *split)
        return folder


def tables_of(connection):
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {name: [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')] for name in names}


def name_tensors(connection):
    """Views in place of the tables of tensors, alike for all versions: by the tensor's name."""
    tables = tables_of(connection)
    by_tensor = "tensors" in tables
    own = "tensor_" if by_tensor else ""
    chosen = {}
    for table in OF_TENSORS:
        key = "tensor_id" if by_tensor else "operand"
        rest = ", ".join(f't."{column}"' for column in tables.get(own + table, []) if column != key)
        if by_tensor:
            chosen[table] = f"SELECT {rest}, s.tensor FROM {own}{table} t JOIN main.tensors s USING (run_id, tensor_id)"
        elif table in tables:
            names = " ".join(f"WHEN '{old}' THEN '{new}'" for old, new in OPERANDS.items())
            chosen[table] = f"SELECT {rest}, CASE operand {names} END AS tensor FROM main.{table} t"
    source = "tensors" if by_tensor else "runs_expert_layer_tensors"
    rest = ", ".join(f'"{column}"' for column in tables[source] if column not in ("tensor_id", "position"))
    chosen["tensors"] = (f"SELECT {rest} FROM main.{source} "
                         "WHERE run_id IN (SELECT run_id FROM main.runs_expert_layer)")
    if not by_tensor:
        columns = ", ".join(one for one in tables["runs_expert_layer_error_sources"] if one != "position")
        chosen["error_sources"] = f"SELECT {columns} FROM main.runs_expert_layer_error_sources"
    for name, select in chosen.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
    behind = ("runs_expert_layer_", "tensor_")
    tables = {name: columns for name, columns in tables.items() if not name.startswith(behind)}
    for name in chosen:
        tables[name] = [row[1] for row in connection.execute(f"PRAGMA temp.table_info({name})")]
    return tables


def rows_of(connection, table, columns):
    chosen = ", ".join(f'"{column}"' for column in columns)
    rows = connection.execute(f'SELECT {chosen} FROM "{table}" {NOT_EMPTY.get(table, "")}')
    return sorted((tuple(RENAMED.get(value, value) for value in row) for row in rows), key=repr)


class Report:
    def __init__(self, device):
        self.device = device
        self.differences = []
        self.settings = []
        self.cells = 0

    def rows(self, table, column, old, new, of_settings):
        self.cells += len(old)
        if old == new:
            return
        shown = next(((a, b) for a, b in zip(old, new) if a != b), (f"{len(old)} rows", f"{len(new)} rows"))
        words = f"{table}.{column}: {shown[0]!r:.300} became {shown[1]!r:.300}"
        (self.settings if of_settings else self.differences).append(words)


def compare_recordings(paths, report):
    old, new = (sqlite3.connect(f"file:{path}?mode=ro", uri=True) for path in paths)
    old_tables, new_tables = name_tensors(old), name_tensors(new)
    for table in sorted(old_tables.keys() ^ new_tables.keys()):
        report.settings.append(f"only the {'old' if table in old_tables else 'new'} recording has the table {table}")
    for table in sorted(old_tables.keys() & new_tables.keys()):
        counts = [one.execute(f'SELECT count(*) FROM "{table}"').fetchone() for one in (old, new)]
        if table in TIMED_TABLES and report.device:
            continue  # how often a driver reports is not the step's
        if table in TIMED_TABLES:
            report.rows(table, "(rows)", *[[count] for count in counts], False)
            continue
        for column in sorted(set(old_tables[table]) ^ set(new_tables[table])):
            has = "old" if column in old_tables[table] else "new"
            report.settings.append(f"only the {has} recording has the column {table}.{column}")
        common = [column for column in old_tables[table] if column in new_tables[table]
                  and not column.endswith(TIMED_ENDINGS)]
        # Each value together with its row's keys, so that a difference says where it is.
        keys = [column for column in common if column.endswith("_id") or column in
                ("position", "expert", "report", "tensor", "kind", "code", "cell", "step", "bin")]
        for column in common:
            old_rows, new_rows = (rows_of(one, table, list(dict.fromkeys([*keys, column]))) for one in (old, new))
            of_settings = table in SETTINGS_TABLES or column.endswith(SETTINGS_ENDINGS)
            report.rows(table, column, old_rows, new_rows, of_settings)


def settings_of(manifest):
    """A dump's manifest without the version, what a request is written as, and notes for people."""
    with open(manifest, encoding="utf-8") as file:
        said = json.load(file)
    for described in said["files"].values():
        described.pop("note", None)
    return {key: value for key, value in said.items() if key not in ("program", "request")}


def compare_dumps(folders, name, report):
    files = [sorted(os.listdir(folder)) for folder in folders]
    if files[0] != files[1]:
        report.differences.append(f"dump {name}: the files {files[0]} became {files[1]}")
        return
    for file in files[0]:
        old, new = (os.path.join(folder, file) for folder in folders)
        report.cells += 1
        same = settings_of(old) == settings_of(new) if file == "manifest.json" else filecmp.cmp(old, new, shallow=False)
        if not same:
            report.differences.append(f"dump {name}: {file} differs")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="folder with the old expertscope and its worker")
    parser.add_argument("new", help="folder with the new ones")
    parser.add_argument("--device", action="store_true",
                        help="every third request on the GPU, without the dumps; tables of times are left out")
    folders = parser.parse_args()
    report = Report(folders.device)
    wanted = requests()
    if folders.device:
        # The grouped products refuse block-scaled E5M2.
        runs = [one for one in wanted if one["recipe"].get("activation_format") != "e5m2"]
        wanted = [{**one, "backend": "cublaslt-grouped"} for one in runs[::3]]
    dumps = [] if folders.device else [(recipe, *dump) for recipe in DUMPED for dump in DUMPS]
    with tempfile.TemporaryDirectory() as scratch:
        versions = [Version(getattr(folders, name), scratch, name, folders.device) for name in ("old", "new")]
        compare_recordings([version.record(version.log(wanted, scratch)) for version in versions], report)
        write_npy(os.path.join(scratch, "x.npy"), 192, 256)
        for recipe, operand, splits in dumps:
            compare_dumps([version.dump(recipe, operand, splits, scratch) for version in versions],
                          f"{recipe} {operand} {splits}", report)
    for words in report.settings:
        print(f"by intent  {words}")
    for words in report.differences:
        print(f"DIFFERENT  {words}")
    print(f"{len(wanted)} runs, {len(dumps)} dumps: {report.cells} values and files compared, "
          f"{len(report.differences)} differences, {len(report.settings)} by intent")
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
