"""Animated GIF without a library: one palette for all frames, and of each frame only the rectangle that differs from
the one before it."""
import struct

import numpy as np

MOST_COLOURS = 255  # one of the 256 stands for "as before"


def palette_of(frames, colours):
    """An eighth for the most frequent colours, which are those of large areas and close to each other; median cut for
    the rest, where large areas count for a thousand pixels at most. -> [at most colours, 3] uint8"""
    packed = np.concatenate([pack(frame).ravel() for frame in frames])
    values, counts = np.unique(packed, return_counts=True)
    weights = np.minimum(counts, 1000).astype(np.float64)
    points = np.stack([values >> 16, (values >> 8) & 255, values & 255], axis=1).astype(np.float64)
    areas = np.argsort(counts)[::-1][:colours // 8]
    weights[areas] = 0
    boxes = [np.flatnonzero(weights)]
    while 0 < len(boxes[0]) and len(boxes) < colours - len(areas):
        spread = [np.ptp(points[box], axis=0).max() * weights[box].sum() ** 0.5 for box in boxes]
        widest = int(np.argmax(spread))
        box = boxes[widest]
        if len(box) < 2:
            break
        axis = int(np.argmax(np.ptp(points[box], axis=0)))
        box = box[np.argsort(points[box, axis], kind="stable")]
        half = int(np.searchsorted(np.cumsum(weights[box]), weights[box].sum() / 2)) + 1
        half = min(max(half, 1), len(box) - 1)
        boxes[widest:widest + 1] = [box[:half], box[half:]]
    # The most frequent colour of a box stands for it: a background keeps its exact colour.
    exact = [points[box[np.argmax(counts[box])]] for box in boxes if len(box)]
    return np.vstack([points[areas], *exact]).astype(np.uint8)


def pack(pixels):
    wide = pixels.astype(np.uint32)
    return wide[:, :, 0] << 16 | wide[:, :, 1] << 8 | wide[:, :, 2]


def indexed(pixels, palette):
    """The nearest colour of the palette for every pixel. -> [height, width] uint8"""
    values, places = np.unique(pack(pixels).ravel(), return_inverse=True)
    colours = np.stack([values >> 16, (values >> 8) & 255, values & 255], axis=1).astype(np.int32)
    nearest = np.empty(len(colours), np.uint8)
    for start in range(0, len(colours), 4096):
        apart = colours[start:start + 4096, None, :] - palette[None, :, :].astype(np.int32)
        nearest[start:start + 4096] = np.argmin((apart * apart).sum(axis=2), axis=1)
    return nearest[places.ravel()].reshape(pixels.shape[:2])


def lzw(indices, bits):
    """The pixels as GIF's code stream, in blocks."""
    clear, end = 1 << bits, (1 << bits) + 1
    out, buffer, held = bytearray(), 0, 0
    table, following, width = {}, end + 1, bits + 1

    def put(code):
        nonlocal buffer, held
        buffer |= code << held
        held += width
        while held >= 8:
            out.append(buffer & 255)
            buffer >>= 8
            held -= 8

    put(clear)
    known = -1
    for pixel in indices.ravel().tolist():
        if known < 0:
            known = pixel
            continue
        longer = table.get((known, pixel))
        if longer is not None:
            known = longer
            continue
        put(known)
        table[(known, pixel)] = following
        if following == 1 << width and width < 12:
            width += 1
        following += 1
        if following == 4096:
            put(clear)
            table, following, width = {}, end + 1, bits + 1
        known = pixel
    put(known)
    put(end)
    if held:
        out.append(buffer & 255)
    blocks = bytearray([bits])
    for start in range(0, len(out), 255):
        block = out[start:start + 255]
        blocks += bytes([len(block)]) + block
    return bytes(blocks + b"\0")


def changed_part(before, now):
    """-> top, left, bottom, right"""
    rows = np.flatnonzero((before != now).any(axis=1))
    columns = np.flatnonzero((before != now).any(axis=0))
    if not len(rows):
        return 0, 0, 1, 1
    return rows[0], columns[0], rows[-1] + 1, columns[-1] + 1


def write_gif(frames, seconds, colours=MOST_COLOURS):
    """[height, width, 3] uint8 each, shown for so many seconds, for ever. -> bytes"""
    palette = palette_of(frames, min(colours, MOST_COLOURS))
    bits = max(2, int(len(palette)).bit_length())
    same = len(palette)
    table = np.zeros((1 << bits, 3), np.uint8)
    table[:len(palette)] = palette
    height, width, _ = frames[0].shape
    data = b"GIF89a" + struct.pack("<HHBBB", width, height, 0xF0 | (bits - 1), 0, 0) + table.tobytes()
    data += b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"
    before = None
    for frame, shown in zip(frames, seconds):
        now = indexed(frame, palette)
        top, left, bottom, right = (0, 0, height, width) if before is None else changed_part(before, now)
        part = now[top:bottom, left:right].copy()
        if before is not None:
            part[part == before[top:bottom, left:right]] = same
        # Left in place for the next; the colour "as before" shows through.
        data += struct.pack("<BBBBHBB", 0x21, 0xF9, 4, 0x05, round(100 * shown), same, 0)
        data += struct.pack("<BHHHHB", 0x2C, left, top, right - left, bottom - top, 0) + lzw(part, bits)
        before = now
    return data + b";"
