"""Choosing a file with the keyboard alone, and files that hold a whole step."""
import pathlib

import pytest

from test_files import value, write_safetensors

np = pytest.importorskip("numpy")


def open_dialog(window):
    window.key("ctrl+o")
    window.wait("the dialog", lambda m: any(c["id"] == "file.path" for c in m["controls"]))


def wait_folder(window, folder, *names):
    """The dialog lists these names of the folder, in this order."""
    def listed(current):
        ids = [c["id"] for c in current["controls"] if c["kind"] == "option" and c["id"].startswith("file.")]
        return (any(c["id"] == "file.folder" and pathlib.Path(c["value"]) == folder for c in current["controls"])
                and ids == ["file." + name for name in names])
    window.wait(f"{names} of {folder}", listed)


def wait_selected(window, name):
    window.wait(f"{name} selected", lambda m: any(
        c["id"] == "file.selected" and c["value"] == name for c in m["controls"]))


def test_the_dialog_is_used_with_keys_from_its_start(open_window):
    window = open_window()
    window.wait_for_result()
    inner = window.folder / "captures" / "inner"
    inner.mkdir(parents=True)
    rng = np.random.default_rng(1)
    for name in ("alpha", "beta", "gamma"):
        np.save(inner / f"{name}.npy", rng.standard_normal((256, 128)).astype(np.float32))
    open_dialog(window)
    window.xdotool("type", "--delay", 15, "CAPT")
    wait_folder(window, window.folder, "captures")
    wait_selected(window, "captures")
    window.press("Return")
    wait_folder(window, window.folder / "captures", "inner")
    assert value(window, "file.path") == ""
    window.press("Down")
    wait_selected(window, "inner")
    window.press("Return")
    wait_folder(window, inner, "alpha.npy", "beta.npy", "gamma.npy")
    # Backspace takes letters before it leaves the folder.
    window.xdotool("type", "--delay", 15, "g")
    wait_folder(window, inner, "gamma.npy")
    window.press("BackSpace")
    wait_folder(window, inner, "alpha.npy", "beta.npy", "gamma.npy")
    window.press("BackSpace")
    wait_folder(window, inner.parent, "inner")
    window.xdotool("type", "--delay", 15, "inn")
    wait_selected(window, "inner")
    window.press("alt", "Up")
    window.wait("the folder above", lambda m: any(
        c["id"] == "file.folder" and pathlib.Path(c["value"]) == window.folder for c in m["controls"]))
    assert value(window, "file.path") == ""
    # A folder that is typed as a path is entered too.
    window.xdotool("type", "--delay", 15, str(inner))
    window.press("Return")
    wait_folder(window, inner, "alpha.npy", "beta.npy", "gamma.npy")
    window.press("Down")
    window.press("Down")
    wait_selected(window, "beta.npy")
    window.press("Return")
    window.wait("the tensor in the rail", lambda m: any(
        c["id"] == "status.says" and "beta.npy gives the values of X" in c["value"] for c in m["controls"]))
    assert window.control("file.path") is None


def test_escape_closes_the_dialog_at_once_and_a_name_to_save_is_free(open_window):
    window = open_window()
    window.wait_for_result()
    open_dialog(window)
    window.xdotool("type", "--delay", 15, "some")
    window.press("Escape")
    window.wait("no dialog", lambda m: all(c["id"] != "file.path" for c in m["controls"]))
    window.key("ctrl+s")
    window.wait("the dialog", lambda m: any(c["id"] == "file.path" for c in m["controls"]))
    window.settle()
    window.press("ctrl", "a")
    window.xdotool("type", "--delay", 15, "mine.session")
    window.press("Return")
    window.wait("the file", lambda m: (window.folder / "mine.session").exists())


def step(rows=96):
    rng = np.random.default_rng(3)
    def of(*shape):
        return rng.standard_normal(shape).astype(np.float32)
    return {"x": of(96, 128), "w": of(3, 64, 128), "dy": of(rows, 64),
            "splits": np.array([40, 0, 56], dtype=np.int64)}


def wait_whole_step(window):
    """The operands and the routing come from files, and a run of them is on screen."""
    window.wait("a run of the dump", lambda m: not m["state"]["stale"] and any(
        c["id"] == "status.says" and c["value"].startswith("X, W, dY, splits come from the dump")
        for c in m["controls"]))
    for name, wanted in (("shape.rows", "96"), ("shape.k", "128"), ("shape.n", "64"), ("shape.experts", "3")):
        assert value(window, name) == wanted, name
    for name in ("activations.source", "weights.source", "gradients.source", "routing.distribution"):
        assert value(window, name) == "From a file", name
    assert window.state()["last_error"] == ""


def test_one_click_fills_every_operand_and_the_routing(open_window):
    window = open_window()
    window.wait_for_result()
    rows = value(window, "shape.rows")
    write_safetensors(window.folder / "dump.safetensors", step())
    window.open_file(window.folder / "dump.safetensors")
    window.wait("the offer", lambda m: any(
        c["id"] == "activations.use_all" and c["label"] == "Use all: X, W, dY, splits" for c in m["controls"]))
    assert value(window, "activations.tensor").startswith("x ")
    window.settle()
    window.click("activations.use_all")
    wait_whole_step(window)
    assert window.control("activations.use_all") is None
    # One step back: X alone comes from the file again; another: nothing does.
    window.key("ctrl+z")
    window.wait("the offer", lambda m: any(c["id"] == "activations.use_all" for c in m["controls"]))
    assert value(window, "weights.source") != "From a file"
    window.key("ctrl+z")
    window.wait("the rail as before", lambda m: value(window, "shape.rows") == rows)
    # A tensor that does not fit is named, and the request stays.
    write_safetensors(window.folder / "odd.safetensors", step(rows=95))
    window.open_file(window.folder / "odd.safetensors")
    window.wait("the offer", lambda m: any(c["id"] == "activations.use_all" for c in m["controls"]))
    window.settle()
    window.click("activations.use_all")
    window.wait("its name", lambda m: "dy of odd.safetensors: [95, 64] does not fit" in m["state"]["last_error"])
    assert value(window, "weights.source") != "From a file"


def test_a_folder_with_a_file_for_every_operand_is_one_step(open_window):
    window = open_window()
    window.wait_for_result()
    folder = window.folder / "step"
    folder.mkdir()
    for name, array in step().items():
        np.save(folder / f"{name}.npy", array)
    open_dialog(window)
    assert window.control("file.use_all") is None
    window.xdotool("type", "--delay", 15, "step")
    wait_selected(window, "step")
    window.press("Return")
    window.wait("the offer", lambda m: any(
        c["id"] == "file.use_all" and c["label"] == "Use all: X, W, dY, splits" for c in m["controls"]))
    window.settle()
    window.click("file.use_all")
    wait_whole_step(window)


def test_a_lone_file_offers_the_files_beside_it(open_window):
    window = open_window()
    window.wait_for_result()
    folder = window.folder / "step"
    folder.mkdir()
    for name, array in step().items():
        np.save(folder / f"{name}.npy", array)
    np.save(window.folder / "x.npy", step()["x"])
    window.open_file(window.folder / "x.npy")
    window.wait("its tensor", lambda m: window.control("activations.tensor") is not None)
    window.settle()
    assert window.control("activations.use_all") is None  # nothing is beside it
    window.open_file(folder / "x.npy")
    window.wait("the offer", lambda m: any(
        c["id"] == "activations.use_all" and c["label"] == "Use all: X, W, dY, splits" for c in m["controls"]))
    window.settle()
    window.click("activations.use_all")
    wait_whole_step(window)
    assert window.control("activations.use_all") is None


def test_an_npz_archive_fills_every_operand(open_window):
    window = open_window()
    window.wait_for_result()
    for name, save in (("stored", np.savez), ("packed", np.savez_compressed)):
        save(window.folder / f"{name}.npz", **step())
        window.open_file(window.folder / f"{name}.npz")
        window.wait("the offer", lambda m: any(
            c["id"] == "activations.use_all" and c["label"] == "Use all: X, W, dY, splits" for c in m["controls"]))
        window.settle()
        window.click("activations.use_all")
        window.wait("it to be used", lambda m: any(
            c["id"] == "status.says" and c["value"].startswith("X, W, dY, splits come from the dump")
            for c in m["controls"]) and window.control("activations.use_all") is None)
        wait_whole_step(window)
        assert value(window, "activations.tensor").startswith("x ")
    (window.folder / "broken.npz").write_bytes((window.folder / "stored.npz").read_bytes()[:-30])
    window.open_file(window.folder / "broken.npz")
    window.wait("the refusal", lambda m: "no ZIP directory at its end" in m["state"]["last_error"])


@pytest.mark.parametrize("height", (560, 800))
def test_every_row_of_a_long_list_can_be_reached(open_window, height):
    window = open_window(height=height)
    window.wait_for_result()
    many = {f"layers.{i}.h{i}": np.zeros((96, 128), np.float32) for i in range(84)}
    write_safetensors(window.folder / "many.safetensors", {"x": step()["x"], **many})
    window.open_file(window.folder / "many.safetensors")
    window.wait("the tensor", lambda m: any(c["id"] == "activations.tensor" and c["value"] for c in m["controls"]))
    window.settle()
    before = value(window, "activations.tensor")

    def open_list():
        window.click("activations.tensor")
        window.wait("the list", lambda m: window.control("activations.tensor.1") is not None)
        window.settle()
    open_list()
    # Only the keyboard: the list closes, and nothing else is chosen.
    window.press("Escape")
    window.wait("no list", lambda m: window.control("activations.tensor.1") is None)
    assert value(window, "activations.tensor") == before
    open_list()
    first = window.control("activations.tensor.1")["rect"]
    window.xdotool("mousemove", int(first[0]) + 20, int(first[1] + first[3]) // 2)
    window.xdotool("click", "--repeat", 80, "--delay", 10, 5)
    window.settle()
    last = window.control("activations.tensor.84")
    assert last is not None and last["rect"][1] > 0 and last["rect"][3] <= height - 2, last
    chosen = last["label"]
    assert chosen != before
    window.click("activations.tensor.84")
    window.wait("the last one", lambda m: value(window, "activations.tensor") == chosen)
