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


def read_gif(data):
    """What write_gif() wrote. -> frames as they are shown, seconds of each"""
    assert data[:6] == b"GIF89a"
    width, height, flags = struct.unpack("<HHB", data[6:11])
    size = 2 << (flags & 7)
    table = np.frombuffer(data[13:13 + 3 * size], np.uint8).reshape(size, 3)
    at, frames, seconds = 13 + 3 * size, [], []
    canvas, same = np.zeros((height, width), np.uint8), None
    while data[at:at + 1] != b";":
        if data[at] == 0x21:
            if data[at + 1] == 0xF9:
                _, delay, same = struct.unpack("<BHB", data[at + 3:at + 7])
                seconds.append(delay / 100)
            at += 2
            _, at = blocks_of(data, at)
            continue
        assert data[at] == 0x2C
        left, top, wide, high = struct.unpack("<HHHH", data[at + 1:at + 9])
        codes, after = blocks_of(data, at + 11)
        part = np.array(unlzw(codes, data[at + 10]), np.uint8).reshape(high, wide)
        place = canvas[top:top + high, left:left + wide]
        place[:] = np.where(part == same, place, part) if frames else part
        frames.append(table[canvas])
        at = after
    return frames, seconds


def blocks_of(data, at):
    body = b""
    while data[at]:
        body += data[at + 1:at + 1 + data[at]]
        at += 1 + data[at]
    return body, at + 1


def unlzw(codes, bits):
    clear, end = 1 << bits, (1 << bits) + 1
    words, width = {}, bits + 1
    pixels, last, buffer, held = [], None, 0, 0
    for byte in codes:
        buffer |= byte << held
        held += 8
        while held >= width:
            code, buffer, held = buffer & ((1 << width) - 1), buffer >> width, held - width
            if code == clear:
                words = {i: (i,) for i in range(clear)}
                following, width, last = end + 1, bits + 1, None
                continue
            if code == end:
                return pixels
            word = words[code] if code in words else last + last[:1]
            pixels += word
            if last is not None and following < 4096:
                words[following] = last + word[:1]
                following += 1
                if following == 1 << width and width < 12:
                    width += 1
            last = word
    raise AssertionError("the code stream has no end")
