"""The four pages of the shipped recording, compared with reviewed references.

After a wanted change of the window look at the pictures that the failing test leaves, then
    EXPERTSCOPE_PROGRAM=build/bin/expertscope python3 tests/gui/test_pictures.py
rewrites the references: review them again before the commit."""
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

np = pytest.importorskip("numpy")

import picture as pictures  # noqa: E402
from window_driver import Window  # noqa: E402

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
REFERENCES = pathlib.Path(__file__).resolve().parent / "pictures"
PAGES = ["performance", "numerics", "graphs", "compare"]
THEMES = ["dark", "light"]


def with_theme(window, theme):
    """Switches to this theme; the button offers the other one."""
    if window.control("top.theme")["label"].lower() == theme:
        window.click("top.theme")
        window.wait(f"the {theme} theme", lambda m: any(
            c["id"] == "top.theme" and c["label"].lower() != theme for c in m["controls"]))


def take(window, page):
    """The window at rest, with the pointer over nothing. Only Performance shows the
    rail: once is enough, and a new control in it renews two pictures, not eight."""
    index = PAGES.index(page)
    window.click(f"tab.{index}")
    window.wait(page, lambda m: m["state"]["page"] == page)
    rail = page == "performance"
    if (window.control("shape.rows") is not None) != rail:
        window.settle()
        window.key("q")
        window.wait("the rail or its room", lambda m: rail == any(
            c["id"] == "shape.rows" for c in m["controls"]))
    return pictures.halved(pictures.read_png(window.picture().read_bytes()))


def opened(program, folder):
    """Opens a copy of the recording: pictures are saved next to it."""
    recording = pathlib.Path(folder) / SAMPLE.name
    shutil.copy(SAMPLE, recording)
    window = Window(program, folder, [str(recording), "--no-worker"], width=1280, height=800)
    window.wait("the recording", lambda m: m["state"]["from_file"])
    window.settle()
    return window


def reference(page, theme):
    return pictures.read_png((REFERENCES / f"{page}-{theme}.png").read_bytes())


@pytest.mark.parametrize("theme", THEMES)
def test_pages_look_as_reviewed(program, tmp_path, theme):
    left = pathlib.Path(os.environ.get("EXPERTSCOPE_PICTURES", tempfile.gettempdir()))
    wrong = []
    with opened(program, tmp_path) as window:
        with_theme(window, theme)
        taken = [(page, take(window, page)) for page in PAGES]
    for page, seen in taken:
        wanted = reference(page, theme)
        largest, regions = pictures.difference(seen, wanted)
        print(f"{page} {theme}: largest difference {largest:.2f}")
        if regions != 0:
            name = f"expertscope-{page}-{theme}"
            for kind, pixels in [("seen", seen), ("difference", pictures.marked(seen, wanted))]:
                (left / f"{name}-{kind}.png").write_bytes(pictures.write_png(pixels))
            wrong.append(f"{page} {theme}: {regions} regions differ, the most by {largest:.1f} "
                         f"of 255; see {left}/{name}-seen.png and -difference.png")
    assert not wrong, "\n".join(wrong)


def test_another_rasteriser_stays_within_the_tolerance(program, tmp_path, monkeypatch):
    """Softpipe rounds and covers edges with different code than llvmpipe: the effect of another version of Mesa
    on a picture is of that size."""
    monkeypatch.setenv("GALLIUM_DRIVER", "softpipe")
    largest = 0.0
    with opened(program, tmp_path) as window:
        with_theme(window, "dark")
        for page in PAGES:
            apart, _ = pictures.difference(take(window, page), reference(page, "dark"))
            print(f"softpipe, {page}: largest difference {apart:.2f}")
            largest = max(largest, apart)
    assert largest <= 0.9 * pictures.TOLERANCE


def test_a_wrong_theme_size_or_page_is_seen():
    dark = reference("performance", "dark")
    assert pictures.difference(dark, dark) == (0.0, 0)
    assert pictures.difference(reference("performance", "light"), dark)[1] > 500
    assert pictures.difference(reference("numerics", "dark"), dark)[1] > 200
    assert pictures.difference(dark[:-2], dark)[1] == -1


def test_small_faults_are_detected():
    """Typical faults of a panel: a missing word, a curve with another colour, a plot that moved."""
    dark = reference("performance", "dark")
    ground = dark[4, 330].astype(int)
    title = np.argwhere(np.abs(dark.astype(int) - ground).max(axis=2) > 128)
    y, x = title[0]
    gone = dark.copy()
    gone[y - 1:y + 8, x - 1:x + 16] = ground
    assert pictures.difference(gone, dark)[1] >= 1
    orange = (dark[:, :, 0] > 150) & (dark[:, :, 2] < 60)
    assert orange.sum() > 100
    recoloured = dark.copy()
    recoloured[orange] = recoloured[orange][:, ::-1]
    assert pictures.difference(recoloured, dark)[1] >= 4
    moved = dark.copy()
    moved[200:, 200:] = np.roll(dark[200:, 200:], 6, axis=0)
    assert pictures.difference(moved, dark)[1] >= 10
    assert pictures.marked(moved, dark).shape == dark.shape


def test_png_round_trip():
    rows = np.random.default_rng(1).integers(0, 256, (37, 53, 3)).astype(np.uint8)
    assert (pictures.read_png(pictures.write_png(rows)) == rows).all()


def renew(program):
    REFERENCES.mkdir(exist_ok=True)
    for theme in THEMES:
        with tempfile.TemporaryDirectory() as folder:
            with opened(program, folder) as window:
                with_theme(window, theme)
                for page in PAGES:
                    path = REFERENCES / f"{page}-{theme}.png"
                    path.write_bytes(pictures.write_png(pictures.rounded(take(window, page))))
                    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    renew(os.environ.get("EXPERTSCOPE_PROGRAM") or sys.exit("EXPERTSCOPE_PROGRAM names the program"))
