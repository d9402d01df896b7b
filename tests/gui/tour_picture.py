"""The README's animated picture: a tour of the window as it plays, 20 s, captions included.

    EXPERTSCOPE_PROGRAM=build/bin/expertscope python3 tests/gui/tour_picture.py
renews assets/pictures/tour.gif: look at it before the commit."""
import os
import pathlib
import subprocess
import sys
import tempfile

from gif import write_gif
from picture import read_png
from window_driver import Display

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = ROOT / "assets" / "tours" / "workspace_bug.json"
PICTURE = ROOT / "assets" / "pictures" / "tour.gif"
SIZE = (1120, 800)  # a README is about 900 pixels wide
SECONDS = 20
COLOURS = 150


def frames_of(program, folder):
    """The window writes a picture of each step by itself; without the rail, which the tour does not speak of."""
    settings = folder / "config" / "expertscope" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"rail_hidden": true}')
    display = Display(*SIZE)
    try:
        subprocess.run([program, "open", str(TOUR), "--no-worker", "--tour", str(folder), "--size", *map(str, SIZE)],
                       check=True, timeout=300, cwd=folder, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, DISPLAY=display.name, LIBGL_ALWAYS_SOFTWARE="1",
                                XDG_CONFIG_HOME=str(folder / "config")))
    finally:
        display.close()
    return [read_png(path.read_bytes()) for path in sorted(folder.glob("*.png"))]


def main():
    program = pathlib.Path(os.environ["EXPERTSCOPE_PROGRAM"]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        frames = frames_of(program, pathlib.Path(folder))
    data = write_gif(frames, [SECONDS / len(frames)] * len(frames), COLOURS)
    PICTURE.write_bytes(data)
    print(f"{PICTURE}: {len(frames)} frames, {len(data)} bytes")


if __name__ == "__main__":
    sys.exit(main())
