"""Pictures of the window and reviewed references: reading and writing PNG without a library, and
the one comparison.

A reference is the window at half its size with 64 levels a channel: small in the repository, still
good to look at. Two rasterisers draw the same letter with other grey values at its edges, and a
glyph may lie half a pixel further; neither moves the mean colour of a region of 16 x 16 pixels by
much, while a missing text, another colour or a plot that is elsewhere does. So regions are compared
by their mean per channel."""
import struct
import zlib

import numpy as np

REGION = 16  # side of a region in pixels of a reference
LEVELS = 4   # step between the stored grey values

# Of 255, for a region's mean per channel. Half a step of LEVELS, 2, is the reference's own rounding. Drawn by the
# softpipe rasteriser instead of llvmpipe no region of the eight pictures is further off than 8.4, where bars of the
# timeline meet a pixel's edge (test_pictures.py checks this); a short word that is missing changes its region by 10 and
# more.
TOLERANCE = 9.5


def read_png(data):
    """8-bit grey, RGB or RGBA, not interlaced. -> [height, width, 3] uint8"""
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG"
    at, packed, header = 8, b"", None
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    width, height, depth, colour, _, _, interlaced = header
    assert depth == 8 and interlaced == 0 and colour in (0, 2, 6), f"PNG of kind {header}"
    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + width * channels)
    pixels = np.zeros((height, width, channels), np.uint8)
    above = np.zeros((width, channels), np.int32)
    for y in range(height):
        above = unfilter(int(rows[y, 0]), rows[y, 1:].reshape(width, channels), above)
        pixels[y] = above
    return np.repeat(pixels, 3, axis=2) if channels == 1 else pixels[:, :, :3]


def unfilter(kind, row, above):
    row = row.astype(np.int32)
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row, axis=0) & 255
    if kind == 2:
        return (row + above) & 255
    done = np.zeros_like(row)
    left = np.zeros(row.shape[1], np.int32)
    corner = np.zeros(row.shape[1], np.int32)
    for x in range(row.shape[0]):
        up = above[x]
        if kind == 3:
            guess = (left + up) // 2
        else:
            distance = np.abs(np.stack([up - corner, left - corner, left + up - 2 * corner]))
            guess = np.where((distance[0] <= distance[1]) & (distance[0] <= distance[2]), left,
                             np.where(distance[1] <= distance[2], up, corner))
        left = done[x] = (row[x] + guess) & 255
        corner = up
    return done


def write_png(pixels):
    """[height, width, 3] uint8 -> bytes; rows hold the difference to the row above."""
    height, width, _ = pixels.shape
    flat = pixels.reshape(height, width * 3).astype(np.int32)
    change = np.vstack([flat[:1], flat[1:] - flat[:-1]]) & 255
    rows = np.hstack([np.full((height, 1), 2), change]).astype(np.uint8)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(
            ">I", zlib.crc32(kind + body))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))


def halved(pixels):
    """-> [height / 2, width / 2, 3] uint8"""
    height, width = pixels.shape[0] // 2 * 2, pixels.shape[1] // 2 * 2
    cells = pixels[:height, :width].reshape(height // 2, 2, width // 2, 2, 3)
    return np.round(cells.mean(axis=(1, 3))).astype(np.uint8)


def rounded(pixels):
    """As references are stored; the compared picture is not rounded, or one level of difference could
    become a step."""
    return np.clip(np.round(pixels / LEVELS) * LEVELS, 0, 255).astype(np.uint8)


def region_means(pixels):
    """-> [rows, columns, 3]; the last ones may be smaller than REGION"""
    height, width, _ = pixels.shape
    tops, lefts = np.arange(0, height, REGION), np.arange(0, width, REGION)
    sums = np.add.reduceat(np.add.reduceat(pixels.astype(np.float64), tops, axis=0), lefts, axis=1)
    counts = np.outer(np.diff(np.append(tops, height)), np.diff(np.append(lefts, width)))
    return sums / counts[:, :, None]


def difference(picture, reference):
    """Both halved. -> largest difference of a region's mean, and how many exceed TOLERANCE"""
    if picture.shape != reference.shape:
        return 255.0, -1
    apart = np.abs(region_means(picture) - region_means(reference)).max(axis=2)
    return float(apart.max()), int((apart > TOLERANCE).sum())


def marked(picture, reference):
    """The differences, in red over the dimmed reference, for human review."""
    if picture.shape != reference.shape:
        return picture
    apart = np.abs(region_means(picture) - region_means(reference)).max(axis=2) > TOLERANCE
    height, width, _ = picture.shape
    mask = np.repeat(np.repeat(apart, REGION, axis=0), REGION, axis=1)[:height, :width, None]
    pixel = np.abs(picture.astype(np.int32) - reference).max(axis=2, keepdims=True)
    red = np.concatenate([np.clip(96 + pixel, 0, 255), pixel // 2, pixel // 2], axis=2)
    return np.where(mask, red, reference // 3).astype(np.uint8)
