"""Programs that are killed at random moments leave whole records: every frame but the last one of each thread is complete.
The format is read here by other code than the product's. Every second program runs with markers; all of them with MARKERS=all.

Arguments: the folder with the stub and the programs, the preloaded library, how many kills.
"""

import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(sys.argv[1]).resolve()
LIBRARY = pathlib.Path(sys.argv[2]).resolve()
KILLS = int(sys.argv[3])
MASK = (1 << 64) - 1
FRAME = struct.Struct("<IIHHIQQ")  # magic, bytes, kind, unused, thread, time, check
FRAME_MAGIC = 0x4D415246
GRAPH_MARKED = struct.Struct("<QI")  # of the payload: graph, markers
GRAPH_MARKED_KIND = 30


def check_of(kind, payload):
    state = 0x9E3779B97F4A7C15 ^ kind
    for (word,) in struct.iter_unpack("<Q", payload):
        state = ((state ^ word) * 0xD6E8FEB86659FD93) & MASK
        state ^= state >> 32
    return state | 1


def faults_of(spool):
    """Complete frames, graphs with markers, and what is wrong with the other frames."""
    content = spool.read_bytes()
    if len(content) < 16 or not any(content[:8]):
        return 0, 0, []  # killed before the header was complete
    magic, version, header_bytes = struct.unpack_from("<QII", content)
    assert (magic, version) == (0x314C4F4F50535358, 1), (magic, version)
    end = struct.unpack_from("<Q", content, 40)[0]
    complete, marked, faults, at = 0, 0, [], header_bytes
    torn = set()  # threads of incomplete frames
    while at < end:
        if at + FRAME.size > len(content):
            faults.append((at, "reserved before the file had grown", 0))
            break
        frame_magic, size, kind, _, thread, _, check = FRAME.unpack_from(content, at)
        if frame_magic != FRAME_MAGIC or size < FRAME.size or size % 8 or at + size > len(content):
            faults.append((at, "no header", thread))
            break
        if thread in torn:
            faults.append((at, "behind an incomplete frame of its thread", thread))
        if check != check_of(kind, content[at + FRAME.size : at + size]):
            faults.append((at, "incomplete" if check == 0 else "damaged", thread))
            torn.add(thread)
        else:
            complete += 1
            marked += kind == GRAPH_MARKED_KIND and GRAPH_MARKED.unpack_from(content, at + FRAME.size)[1] > 0
        at += size
    return complete, marked, faults


def main():
    seed = int(os.environ.get("SEED", "1"))
    dice = random.Random(seed)
    frames = incomplete = with_markers = marked_graphs = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(FOLDER), "LD_PRELOAD": str(LIBRARY),
                       "EXPERTSCOPE_ATTACH_FOLDER": str(folder)}
        for kill in range(KILLS):
            markers = kill % 2 == 1 or os.environ.get("MARKERS") == "all"
            with_markers += markers
            program = subprocess.Popen([FOLDER / "attached_subject", "getproc", "endless"],
                                       env={**environment, "EXPERTSCOPE_ATTACH_MARKERS": str(int(markers))},
                                       stdout=subprocess.DEVNULL)
            time.sleep(dice.uniform(0.001, 0.03))
            program.kill()
            program.wait()
            for spool in folder.iterdir():
                complete, marked, faults = faults_of(spool)
                frames += complete
                marked_graphs += marked
                incomplete += len(faults)
                # Of each thread at most its last frame; the library has one of its own with markers.
                threads = {thread for _, _, thread in faults}
                if (len(faults) > len(threads) or len(threads) > 1 + markers or (marked and not markers) or
                        any(fault == "damaged" for _, fault, _ in faults)):
                    sys.exit(f"kill {kill} (seed {seed}): {spool.name}: {faults[:4]}")
                spool.unlink()
    print(f"{KILLS} kills ({with_markers} with markers, of which {marked_graphs} had marked their graph), "
          f"{frames} complete frames, {incomplete} last ones incomplete")
    if frames == 0:
        sys.exit("nothing was recorded")
    if with_markers > 0 and marked_graphs == 0:
        sys.exit("no graph had markers")


main()
