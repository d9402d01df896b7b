"""Choosing a file with the keyboard alone."""
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
