"""Operands and routing from files, picked and corrected in the rail; a recording whose disk is full."""
import json
import os
import resource
import struct

import pytest

from recordings import query

np = pytest.importorskip("numpy")


def write_safetensors(path, arrays):
    dtypes = {"float16": "F16", "float32": "F32", "int64": "I64"}
    header, offset = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": dtypes[str(array.dtype)], "shape": list(array.shape),
                        "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text
                     + b"".join(array.tobytes() for array in arrays.values()))


def give_path(window, name, path):
    window.click(name)
    window.xdotool("type", "--delay", 15, str(path))
    window.xdotool("keydown", "Return")
    try:
        window.seen("Return")  # Not settle(): a key that is held repeats, and each repeat is drawn.
    finally:
        window.xdotool("keyup", "Return")
    window.settle()


def value(window, name):
    return window.control(name)["value"]


def test_npy_gives_the_step_its_shape(open_window, tmp_path):
    path = tmp_path / "activations.npy"
    np.save(path, np.random.default_rng(1).standard_t(3, size=(768, 384)).astype(np.float32))
    window = open_window()
    before = window.wait_for_result()["state"]["shown_run_id"]
    window.choose("activations.source", "From a file")
    give_path(window, "activations.path", path)
    first = window.wait("a run of the file", lambda m: m["state"]["shown_run_id"] > before
                        and not m["state"]["stale"])["state"]["shown_run_id"]
    assert value(window, "shape.rows") == "768" and value(window, "shape.k") == "384"
    assert window.state()["last_error"] == "" and window.control("activations.use_shape") is None
    # Another shape, set by hand, is refused; the last result stays on screen until there is a new one.
    window.type_number("shape.rows", "512")
    refused = window.wait("a sentence about the shape", lambda m: "768" in m["state"]["last_error"])
    assert "512" in refused["state"]["last_error"] and refused["state"]["shown_run_id"] == first
    window.click("activations.use_shape")
    window.wait("a run of the file", lambda m: m["state"]["shown_run_id"] > first
                and not m["state"]["stale"])
    assert value(window, "shape.rows") == "768"
    window.click("tab.1")
    # 768 rows of 384 columns in blocks of 1x128.
    window.wait("the file's scales", lambda m: any(
        c["id"] == "numerics.scale_histogram" and c["value"] == str(768 * 3)
        for c in m["controls"]))


def test_a_tensor_that_is_opened_at_the_start_is_run_or_says_why_not(open_window, tmp_path):
    fits, cube = tmp_path / "x.npy", tmp_path / "cube.npy"
    values = np.random.default_rng(1).standard_normal((768, 384)).astype(np.float32)
    # As ml_dtypes saves bfloat16: two bytes without a name.
    np.save(fits, (values.view(np.uint32) >> 16).astype(np.uint16).view("V2"))
    np.save(cube, np.ones((4, 4, 4), dtype=np.float32))
    window = open_window(str(fits))
    window.wait_for_result()
    assert value(window, "shape.rows") == "768" and value(window, "shape.k") == "384"
    assert "BF16 [768, 384]" in value(window, "activations.tensor")
    assert "x.npy gives the values of X" in value(window, "status.says")
    window.close()
    window = open_window(str(cube))
    window.wait("why there is no run", lambda m: any(
        c["id"] == "performance.no_run" and "cube.npy cannot be X: its shape is [4, 4, 4]; X must be [tokens, K]"
        in c["value"] for c in m["controls"]))
    assert "cube.npy cannot be X" in value(window, "headline.no_run")
    assert window.state()["shown_run_id"] == 0


def test_tensor_of_a_safetensors_file_is_picked_by_name(open_window, tmp_path):
    path = tmp_path / "dump.safetensors"
    rng = np.random.default_rng(2)
    write_safetensors(path, {"layers.0.input": rng.standard_normal((512, 256)).astype(np.float16),
                             "layers.1.input": rng.standard_normal((640, 512)).astype(np.float32),
                             "positions": np.arange(8, dtype=np.int64)})
    window = open_window()
    before = window.wait_for_result()["state"]["shown_run_id"]
    window.choose("activations.source", "From a file")
    give_path(window, "activations.path", path)
    window.wait("tensors of the file",
                lambda m: any(c["id"] == "activations.tensor" for c in m["controls"]))
    window.choose("activations.tensor", "layers.1.input")
    window.wait("a run of the tensor", lambda m: m["state"]["shown_run_id"] > before
                and not m["state"]["stale"])
    assert value(window, "shape.rows") == "640" and value(window, "shape.k") == "512"


def test_splits_from_json_must_fit_the_tokens(open_window, tmp_path):
    path = tmp_path / "splits.json"
    path.write_text(json.dumps([1000, 0, 0, 0, 0, 0, 0, 1]))
    window = open_window()
    before = window.wait_for_result()["state"]["shown_run_id"]
    window.choose("routing.distribution", "From a file")
    give_path(window, "routing.path", path)
    refused = window.wait("both sums", lambda m: "1001" in m["state"]["last_error"])
    assert "1024" in refused["state"]["last_error"]
    path.write_text(json.dumps([1000, 0, 0, 0, 0, 0, 0, 24]))
    window.click("run.now")
    window.wait("a run with the splits", lambda m: m["state"]["shown_run_id"] > before
                and not m["state"]["stale"])


def recorded_runs(path):
    return query(path, "SELECT count(*) FROM runs")[0][0]


def test_a_recording_that_cannot_be_written_goes_on_elsewhere(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("top.record")
    window.wait("the recording", lambda m: m["state"]["recording"])
    first = window.folder / window.state()["recording_path"]
    window.press("F5")
    window.wait("a recorded run", lambda m: any(c["label"] == "Stop (1)" for c in m["controls"]))
    # As on a full disk: no file may become longer than the recording's log is now.
    longest = os.path.getsize(f"{first}-wal")
    assert longest > 2 * os.path.getsize(window.map_path), "the window's map must fit below the limit"
    _, hard = resource.prlimit(window.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(window.process.pid, resource.RLIMIT_FSIZE, (longest, hard))
    window.press("F5")
    window.wait("the banner", lambda m: any(c["id"] == "recorder.elsewhere" for c in m["controls"]))
    assert any("ulimit -f" in c["value"] + c["label"] for c in window.map()["controls"])
    window.click("recorder.elsewhere")
    window.wait("the dialog", lambda m: any(c["id"] == "file.accept" and c["enabled"] for c in m["controls"]))
    name = window.control("file.path")["value"]
    # It would find out by itself, too, but the dialog is open already.
    resource.prlimit(window.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
    window.click("file.accept")
    state = window.wait("the other file", lambda m: m["state"]["recording_path"].endswith(name)
                        and any(c["label"] == "Stop (2)" for c in m["controls"]))["state"]
    second = window.folder / state["recording_path"]
    assert second != first and window.control("recorder.elsewhere") is None
    window.press("F5")
    window.wait("another run", lambda m: any(c["label"] == "Stop (3)" for c in m["controls"]))
    window.click("top.record")
    window.wait("the end of the recording", lambda m: not m["state"]["recording"])
    assert recorded_runs(second) == 3


def export_page(window, name, with_paths, order):
    order()
    window.wait("the dialog", lambda m: any(c["id"] == "file.with_paths" for c in m["controls"]))
    assert value(window, "file.with_paths") == "false", "never as it was left the last time"
    if with_paths:
        window.click("file.with_paths")
    window.click("file.path")
    window.key("ctrl+a")
    window.xdotool("type", "--delay", 15, str(window.folder / name))
    window.wait("the path", lambda m: any(
        c["id"] == "file.path" and c["value"] == str(window.folder / name) for c in m["controls"]))
    window.settle()
    window.click("file.accept")
    window.wait("word of the page", lambda m: any(
        c["id"].startswith("notice.") and c["value"] == f"Exported: {window.folder / name}" for c in m["controls"]))
    return (window.folder / name).read_text(encoding="utf-8")


def test_what_is_on_screen_becomes_a_page(open_window, tmp_path):
    path = tmp_path / "operand.npy"
    np.save(path, np.random.default_rng(3).standard_normal((1024, 512)).astype(np.float32))
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"shape": {"num_experts": 4, "rows": 1024, "n": 256, "k": 512},
                                   "activations": {"file": {"path": str(path)}}}))
    window = open_window("--request", str(request))
    window.wait_for_link("responsive")
    window.press("F5")
    window.wait_for_result()

    def by_button():
        window.click("top.share")

    def by_name():
        window.key("ctrl+shift+p")
        window.wait("the palette", lambda m: any(c["id"] == "palette.filter" for c in m["controls"]))
        window.xdotool("type", "--delay", 30, "html")
        window.wait("the action", lambda m: any(
            c["id"] == "palette.file.export_page" and "row=0" in c["value"] for c in m["controls"]))
        window.press("Return")

    shared = export_page(window, "shared.html", False, by_button)
    assert shared.startswith("<!DOCTYPE html>") and "default-src 'none'" in shared and "<script" not in shared
    assert "\N{HORIZONTAL ELLIPSIS}/operand.npy" in shared and str(tmp_path) not in shared
    assert str(path) in export_page(window, "own.html", True, by_name)


def test_a_window_with_nothing_to_show_exports_no_page(open_window):
    window = open_window("--no-worker")
    window.key("ctrl+shift+p")
    window.wait("the palette", lambda m: any(c["id"] == "palette.filter" for c in m["controls"]))
    window.xdotool("type", "--delay", 30, "html")
    window.wait("why not", lambda m: any(
        c["id"] == "palette.file.export_page" and "enabled=false;No run, comparison or visit" in c["value"]
        for c in m["controls"]))
    window.key("Escape")
    window.settle()
    share = window.control("top.share")
    assert not share["enabled"] and share["reason"].startswith("No run, comparison or visit")
