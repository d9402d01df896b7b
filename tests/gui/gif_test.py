"""The animated picture of the README, and its writer.

Usage: gif_test.py GIF_FRAMES   (decodes with somebody else's code)
"""
import pathlib
import subprocess
import sys
import unittest

import numpy as np

from gif import write_gif

GIF_FRAMES = sys.argv.pop(1)
PICTURE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "pictures" / "tour.gif"


def read_gif(data):
    """-> frames as they are shown, seconds of each"""
    out = subprocess.run([GIF_FRAMES], input=data, capture_output=True, check=True, timeout=100).stdout
    shape, delays, pixels = out.split(b"\n", 2)
    frames = np.frombuffer(pixels, np.uint8).reshape(*map(int, shape.split()), 3)
    return list(frames), [int(delay) / 1000 for delay in delays.split()]


class Gif(unittest.TestCase):
    def test_what_is_written_is_shown(self):
        random = np.random.default_rng(1)
        frames = [random.integers(0, 2, (60, 333, 3), dtype=np.uint8) * 255 for _ in range(2)]
        frames.append(frames[-1].copy())
        frames[-1][20:30, 40:90] = (10, 20, 30)
        frames.append(frames[-1])
        shown, seconds = read_gif(write_gif(frames, [5, 1.5, 0.25, 2]))
        self.assertEqual(seconds, [5, 1.5, 0.25, 2])
        for frame, one in zip(frames, shown, strict=True):
            np.testing.assert_array_equal(frame, one)

    def test_few_colours_stand_for_many(self):
        ramp = np.zeros((16, 256, 3), np.uint8)
        ramp[:, :, 0] = np.arange(256)
        ramp[:4] = (0, 0, 200)
        shown, _ = read_gif(write_gif([ramp], [1], 32))
        self.assertLessEqual(len(np.unique(shown[0].reshape(-1, 3), axis=0)), 32)
        self.assertLess(np.abs(shown[0].astype(int) - ramp).max(), 16)
        np.testing.assert_array_equal(shown[0][:4], ramp[:4])

    def test_the_readme_shows_a_tour_of_20_seconds(self):
        data = PICTURE.read_bytes()
        self.assertLessEqual(len(data), 2_000_000)
        frames, seconds = read_gif(data)
        self.assertAlmostEqual(sum(seconds), 20, delta=1)
        self.assertGreaterEqual(len(frames), 4)
        readme = (PICTURE.parents[2] / "README.md").read_text()
        self.assertIn("](assets/pictures/tour.gif)", readme)


if __name__ == "__main__":
    unittest.main()
