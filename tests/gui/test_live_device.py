"""The window with a CUDA device: the engine, the graph, the doctor and the measurements, live. Without a
device every test is skipped by name.

EXPERTSCOPE_PICTURES=FOLDER keeps the pictures that the tests take, for review, and how long a model's step
took from a click to its new plots (live-times.json, seconds).
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from test_numerics import fields, value, wait_for

MODEL = "Qwen3"  # a shape worth a device: 128 experts


@pytest.fixture(autouse=True)
def device(program):
    done = subprocess.run([program, "list", "--json"], capture_output=True, text=True, timeout=60)
    backends = json.loads(done.stdout)["backends"]
    for backend in backends:
        if backend["name"].lower().startswith("cublaslt") and backend["available"]:
            return
    pytest.skip("; ".join(backend["reason"] for backend in backends if not backend["available"]))


def keep_picture(window, name):
    folder = os.environ.get("EXPERTSCOPE_PICTURES")
    if not folder:
        return
    shutil.copy(window.picture(), pathlib.Path(folder) / f"{name}.png")


def live(open_window, **sizes):
    window = open_window("--worker-backend", "cuda", **sizes)
    window.wait_for_result()
    return window


def answered(window, act):
    """Waits until the request after `act` is on screen, measured on the device; -> seconds it took."""
    before = window.state()["requested_id"]
    began = time.monotonic()
    act()
    window.wait("a newer request", lambda m: m["state"]["requested_id"] > before)
    window.wait_for_result()
    assert window.state()["request_error"] == "" and window.state()["last_error"] == ""
    return time.monotonic() - began


def chosen(window, name):
    return window.control(name)["value"] == "true"


def test_every_recipe_and_its_switches_give_a_result(open_window):
    window = live(open_window)
    assert "H200" in value(window, "engine.backend") or "cuBLASLt" in value(window, "engine.backend")
    steps = {}
    for recipe in (0, 1, 3, 4, 5, 2):
        answered(window, lambda: window.click(f"recipe.scaling.{recipe}"))
        steps[window.control(f"recipe.scaling.{recipe}")["label"]] = value(window, "headline.step")
    assert len(set(steps.values())) > 1, steps
    exact = value(window, "headline.snr")
    answered(window, lambda: window.click("recipe.pow2"))
    assert not chosen(window, "recipe.pow2")
    assert value(window, "headline.snr") != exact, "the scales of the step follow the switch"
    answered(window, lambda: window.click("step.passes.2"))
    stages = value(window, "performance.stage_sums")
    assert all(f"{stage}=" in stages for stage in ("fprop", "dgrad", "wgrad")), stages


def test_workspaces_launch_modes_and_trace_levels(open_window):
    window = live(open_window)
    window.choose("shape.preset", MODEL)
    window.wait_for_result()
    answered(window, lambda: window.click("engine.launch.1"))
    kernels = value(window, "performance.kernels")
    assert int(kernels) >= 3
    records = int(re.sub(r"\D", "", value(window, "performance.records")))
    assert records > 100
    for strategy in (1, 2, 3, 0):
        answered(window, lambda: window.click(f"engine.workspace.{strategy}"))
    answered(window, lambda: window.click("measure.trace.1"))
    whole = int(re.sub(r"\D", "", value(window, "performance.records")))
    assert 0 < whole < records, "one record per launch"
    answered(window, lambda: window.click("measure.trace.0"))
    answered(window, lambda: window.click("engine.markers"))
    window.key("ctrl+1")
    keep_picture(window, "live-performance")
    window.key("ctrl+3")
    window.click("graphs.view.0")
    window.wait("the replays", lambda m: any(c["id"] == "graphs.series" for c in m["controls"]))
    keep_picture(window, "live-replays")
    window.click("graphs.view.1")
    wait_for(window, "graphs.topology", lambda c: int(fields(c)["drawn"]) > 3)
    keep_picture(window, "live-topology")
    window.click("graphs.view.2")
    wait_for(window, "graphs.memory", lambda c: int(fields(c)["rows"]) > 1)
    keep_picture(window, "live-memory")


def test_a_models_step_is_explored_and_examined(open_window):
    window = live(open_window, width=1600, height=1000)
    times = {"shape": answered(window, lambda: window.choose("shape.preset", "Mixtral 8x7B up"))}
    times["graph"] = answered(window, lambda: window.click("engine.launch.1"))
    answered(window, lambda: window.type_number("engine.iterations", "100"))
    times["exact scales"] = answered(window, lambda: window.click("recipe.pow2"))
    for recipe in (0, 1, 3, 4, 5, 2):
        took = answered(window, lambda: window.click(f"recipe.scaling.{recipe}"))
        times[window.control(f"recipe.scaling.{recipe}")["label"]] = took
    times["both passes"] = answered(window, lambda: window.click("step.passes.2"))
    keep_picture(window, "live-model")
    window.key("ctrl+3")
    window.click("graphs.view.3")
    began = time.monotonic()
    window.click("doctor.prove")
    window.wait("the visit", lambda m: any(c["id"] == "doctor.cancel" for c in m["controls"]))
    window.wait("its end", lambda m: all(c["id"] != "doctor.cancel" for c in m["controls"]), 120)
    times["visit"] = time.monotonic() - began
    assert "equal the eager launches bit for bit" in value(window, "doctor.conclusion")
    keep_picture(window, "live-examined")
    if folder := os.environ.get("EXPERTSCOPE_PICTURES"):
        rounded = {what: round(seconds, 2) for what, seconds in times.items()}
        (pathlib.Path(folder) / "live-times.json").write_text(json.dumps(rounded, indent=1))


def test_measurements_of_the_device(open_window):
    window = live(open_window)
    window.choose("shape.preset", MODEL)
    window.wait_for_result()
    answered(window, lambda: window.click("measure.ceilings"))
    roof = fields(window.control("performance.roofline"))
    assert float(roof["copy_gbps"]) > 100 and float(roof["dense_tflops"]) > 10
    answered(window, lambda: window.click("measure.stamps"))
    answered(window, lambda: window.click("measure.isolated"))
    window.wait("experts", lambda m: "experts=128" in value(window, "performance.experts"))
    answered(window, lambda: window.click("measure.observer"))
    power = value(window, "performance.power")
    assert "No clock" not in power, power
    wait_for(window, "status.device", lambda c: "W" in c["value"] and "MHz" in c["value"])
    keep_picture(window, "live-measured")


def test_numerics_of_the_device(open_window):
    window = live(open_window)
    window.key("ctrl+2")
    wait_for(window, "numerics.scale_map", lambda c: True)
    window.click("numerics.scale_map")
    wait_for(window, "numerics.arithmetic", lambda c: "ulp" in c["value"])
    keep_picture(window, "live-numerics")
    window.click("numerics.part.1")
    window.click("recipes.compare_now")
    window.wait("a comparison", lambda m: m["state"]["comparisons"] > 0 and not m["state"]["comparing"], 60)
    wait_for(window, "recipes.table", lambda c: int(c["value"]) >= 5)
    keep_picture(window, "live-recipes")


def proved(window, case, healthy=False):
    """A visit of this case of the gallery; -> its conclusion and the frames drawn meanwhile."""
    window.key("ctrl+3")
    window.click("graphs.view.3")
    window.click("doctor.subject.1")
    window.choose("doctor.case", case)
    if chosen(window, "doctor.healthy") != healthy:
        window.click("doctor.healthy")
    frame = window.map()["frame"]
    window.click("doctor.prove")
    window.wait("the visit", lambda m: any(c["id"] == "doctor.cancel" for c in m["controls"]))
    window.wait("its end", lambda m: all(c["id"] != "doctor.cancel" for c in m["controls"]), 60)
    window.settle()
    return value(window, "doctor.conclusion"), window.map()["frame"] - frame


def test_a_case_of_the_gallery_is_proved_live_and_its_twin_is_clean(open_window):
    window = live(open_window)
    conclusion, frames = proved(window, "Expert addresses")
    assert conclusion.startswith("Proved"), conclusion
    assert frames > 10, "the window draws while experiments run"
    keep_picture(window, "live-proved")
    conclusion, _ = proved(window, "Expert addresses", healthy=True)
    assert "Proved" not in conclusion, conclusion
    # The rail's worker was not affected.
    answered(window, lambda: window.click("recipe.pow2"))


def test_a_hang_is_diagnosed_live_while_the_window_draws(open_window):
    window = live(open_window)
    conclusion, frames = proved(window, "A counter")
    assert frames > 10
    assert conclusion.startswith("Proved"), conclusion
    wait_for(window, "doctor.stall", lambda c: "a kernel spins" in c["value"])
    keep_picture(window, "live-hang")
    answered(window, lambda: window.click("recipe.pow2"))


def test_a_sweep_and_an_interleaved_pair(open_window):
    window = live(open_window)
    window.key("ctrl+4")
    window.click("compare.run_now")
    wait_for(window, "compare.verdict", lambda c: True)
    window.click("compare.again")
    window.wait("the blocks", lambda m: m["state"]["batch_id"] > 0 and not m["state"]["batch_running"]
                and any(c["id"] == "compare.control" for c in m["controls"]), 60)
    keep_picture(window, "live-pair")
    before = window.state()["batch_id"]
    window.click("compare.part.1")
    window.click("frontier.start")
    window.wait("the sweep", lambda m: m["state"]["batch_id"] > before
                and not m["state"]["batch_running"]
                and any(c["id"] == "frontier.scatter" for c in m["controls"]), 120)
    window.settle()
    assert int(value(window, "frontier.table")) >= 9
    keep_picture(window, "live-frontier")


def test_a_killed_worker_gives_the_device_back(open_window):
    window = live(open_window)
    pid = window.kill_worker()
    window.wait_for_link("lost", 3)
    clicked = time.monotonic()
    window.click("worker.start")
    window.wait("another worker", lambda m: m["state"]["link"] == "responsive"
                and m["state"]["worker_pid"] not in (0, pid))
    assert time.monotonic() - clicked < 10  # a CUDA context is created again
    answered(window, lambda: window.click("recipe.pow2"))
