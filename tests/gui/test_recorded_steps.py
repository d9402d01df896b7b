"""A routing recorded over several steps: opened, replayed, scrubbed with mouse and keys, the slowest chosen."""
import os
import pathlib
import re
import time

import pytest

from test_files import give_path, value

np = pytest.importorskip("numpy")

STEPS, EXPERTS = 6, 8


def write_recording(path):
    """vLLM's [tokens, layers, top_k]: 64 tokens a step; in step 4 all choose experts 0 and 1."""
    rng = np.random.default_rng(5)
    ids = np.stack([np.stack([rng.permutation(EXPERTS)[:2] for _ in range(2)])
                    for _ in range(64 * STEPS)]).astype(np.int16)
    ids[4 * 64:5 * 64] = [0, 1]
    ids[10, :, 1] = -1
    np.save(path, ids)
    return [np.bincount(step[step >= 0], minlength=EXPERTS) for step in ids[:, 0].reshape(STEPS, -1)]


def fields(window, name):
    return dict(part.split("=", 1) for part in value(window, name).split(";"))


def at_step(window, step):
    window.wait(f"step {step}", lambda m: any(
        c["id"] == "performance.step" and c["value"].startswith(f"step={step};") for c in m["controls"]))


@pytest.fixture
def window(open_window, tmp_path):
    path = tmp_path / "routed_experts.npy"
    counts = write_recording(path)
    window = open_window(str(path), width=1500, height=1100)
    window.counts = counts
    window.wait_for_result()
    return window


def test_a_recording_that_is_opened_is_the_routing(window):
    assert value(window, "shape.experts") == "8" and value(window, "shape.rows") == str(2 * 64 * STEPS - 1)
    assert "gives the routing (vLLM routed_experts, int16 [384, 2, 2])" in value(window, "status.says")
    assert "1 of 1 step" in value(window, "routing.recorded")
    assert "1 choice without an expert" in value(window, "routing.recorded")
    # One step cannot be scrubbed: the card says so, and what to do.
    assert value(window, "performance.steps").startswith("steps=1;")


def test_steps_are_scrubbed_with_mouse_and_keys_and_the_slowest_is_a_click_away(window):
    shown = window.state()["shown_run_id"]
    window.type_number("routing.tokens_per_step", "64")
    window.wait("the steps of the file", lambda m: any(
        c["id"] == "routing.recorded" and "6 of 6 steps, up to 128 rows" in c["value"] for c in m["controls"]))
    window.click("routing.use_sizes")
    window.wait("a run of the steps", lambda m: m["state"]["shown_run_id"] > shown and not m["state"]["stale"]
                and any(c["id"] == "performance.steps" and "steps=6;" in c["value"] for c in m["controls"]))
    assert value(window, "shape.rows") == "128"
    assert int(value(window, "engine.iterations")) >= STEPS
    longest = fields(window, "performance.steps")["longest"]
    slowest = fields(window, "performance.steps")["slowest"]
    said = window.control("performance.step_table_card.note")["value"]
    if slowest:
        assert said == f"slowest: {slowest.replace(',', ', ')}"
    else:
        assert re.fullmatch(r"slowest: (not distinguishable|(one of [\d, ]+, which|\d+ steps) cannot be told apart)", said)
    # The pointer on a bar chooses its step ...
    x0, y0, x1, y1 = window.control("performance.steps")["rect"]
    window.xdotool("mousemove", round(x0 + 0.55 * (x1 - x0)), round(0.5 * (y0 + y1)))
    window.xdotool("mousedown", 1)
    window.settle()
    window.xdotool("mouseup", 1)
    window.settle()
    first = int(fields(window, "performance.steps")["chosen"])
    assert 1 <= first <= 4
    at_step(window, first)
    # ... the arrow keys go on from there, not past the ends ...
    window.key("Right")
    at_step(window, first + 1)
    for _ in range(STEPS):
        window.key("Left")
        window.settle()
    at_step(window, 0)
    for step in range(1, STEPS):
        window.key("Right")
        at_step(window, step)
        assert fields(window, "performance.step")["splits"] == ",".join(map(str, window.counts[step]))
    # ... and a row of the table chooses the longest.
    x0, _, _, below = window.control("performance.step_table_card.title")["rect"]
    window.xdotool("mousemove", round(x0 + 60), round(below + 28))  # under the titles of its columns
    window.settle()
    window.xdotool("click", 1)
    at_step(window, int(longest))
    # One step is always chosen: a second click on its row does not change that.
    window.xdotool("click", 1)
    window.settle()
    at_step(window, int(longest))


LAYER = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"


def test_visits_that_were_throttled_do_not_make_a_step_slow(open_window):
    """Step 4 of this run took 11.29 ms while throttled and 11.21 ms when not; step 9 more than 11.24 ms twice.
    Step 7 took 11.22 ms: too near to both for its only time that counts."""
    window = open_window(str(LAYER), "--no-worker", width=1440, height=900)
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    window.settle()
    window.click("top.run")
    window.settle()
    window.click("top.run.5")
    window.settle()
    window.key("ctrl+1")
    window.settle()

    def said():
        steps = fields(window, "performance.steps")
        assert steps["slowest"] == "" and steps["longest"] == "9"
        assert (window.control("performance.step_table_card.note")["value"]
                == "slowest: one of 9, 7, 4, which cannot be told apart")
        window.click("performance.step_table.row.2")
        at_step(window, 4)
        assert "11.17 ms (n 1 of 2)" in window.control("performance.step_card.note")["value"]

    said()
    # Every step has a visit without throttling: leaving the others out everywhere changes none.
    window.click("performance.iterations.skip_throttled")
    window.settle()
    said()


def test_a_file_that_is_written_anew_is_read_again(window, tmp_path):
    path = tmp_path / "routed_experts.npy"
    assert f"up to {2 * 64 * STEPS - 1} rows" in value(window, "routing.recorded")
    np.save(tmp_path / "shorter.npy", np.load(path)[:128])
    os.replace(tmp_path / "shorter.npy", path)
    # Nobody says that it has changed: the rail asks again while it is looked at.
    deadline = time.monotonic() + 30
    while "up to 255 rows" not in value(window, "routing.recorded"):
        assert time.monotonic() < deadline, value(window, "routing.recorded")
        window.xdotool("mousemove", 700 + int(10 * time.monotonic()) % 50, 500)
        window.settle()
    assert "1 of 1 step" in value(window, "routing.recorded")


def test_another_layer_and_a_wrong_choice_are_said(window, tmp_path):
    window.type_number("routing.layer", "2")
    window.wait("the limit", lambda m: "choose 0 to 1" in m["state"]["last_error"])
    window.type_number("routing.layer", "1")
    window.wait("the other layer", lambda m: "choose 0" not in m["state"]["last_error"])
    give_path(window, "routing.path", tmp_path / "none.npy")
    window.wait("no such file", lambda m: "none.npy" in m["state"]["last_error"])


def test_a_file_that_fits_two_readings_is_asked_about(open_window, tmp_path):
    """[4, 768, 2]: 4 layers of 768 tokens (Megatron), or 768 layers of 4 tokens (vLLM)."""
    rng = np.random.default_rng(7)
    ids = np.stack([rng.permutation(EXPERTS)[:2] for _ in range(4 * 768)]).reshape(4, 768, 2).astype(np.int32)
    ids[0, 0, 1] = -1  # a dropped choice: these are no counts
    path = tmp_path / "routing.npy"  # a name that says nothing
    np.save(path, ids)
    window = open_window(str(path), width=1500, height=1100)
    asked = window.wait("the question", lambda m: any(c["id"] == "routing.question" for c in m["controls"]))
    assert "can be read in 2 ways" in value(window, "routing.question")
    buttons = {c["id"]: c for c in asked["controls"] if c["id"].startswith("routing.read_as.")}
    assert set(buttons) == {"routing.read_as.vllm", "routing.read_as.megatron"}
    assert "768 layers" in buttons["routing.read_as.vllm"]["label"]
    assert "4 layers" in buttons["routing.read_as.megatron"]["label"]
    # The words are the choice: they must be legible in the rail.
    for button in buttons.values():
        x0, y0, x1, y1 = button["rect"]
        assert button["visible"] and x1 - x0 > 250
    # Nothing is run before the file's meaning is known.
    assert window.state()["shown_run_id"] == 0
    window.click("routing.read_as.megatron")
    window.wait_for_result()
    assert window.control("routing.question") is None
    said = value(window, "routing.recorded")
    assert said.startswith("Megatron RouterReplay, int32 [4, 768, 2]: 1 of 1 step"), said
    assert "; 4 layers; 1 choice without an expert" in said
    assert value(window, "shape.experts") == str(EXPERTS) and value(window, "shape.rows") == str(2 * 768 - 1)
    assert value(window, "routing.numbers") == "Experts by layer"
