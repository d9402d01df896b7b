"""Programs that are killed at random moments leave whole records: every frame but the last one of each thread is complete.
The format is read here by other code than the product's.

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


def check_of(kind, payload):
    state = 0x9E3779B97F4A7C15 ^ kind
    for (word,) in struct.iter_unpack("<Q", payload):
        state = ((state ^ word) * 0xD6E8FEB86659FD93) & MASK
        state ^= state >> 32
    return state | 1


def faults_of(spool):
    """Complete frames, and what is wrong with the others."""
    content = spool.read_bytes()
    if len(content) < 16 or not any(content[:8]):
        return 0, []  # killed before the header was complete
    magic, version, header_bytes = struct.unpack_from("<QII", content)
    assert (magic, version) == (0x314C4F4F50535358, 1), (magic, version)
    end = struct.unpack_from("<Q", content, 40)[0]
    complete, faults, at = 0, [], header_bytes
    while at < end:
        if at + FRAME.size > len(content):
            faults.append((at, "reserved before the file had grown", 0))
            break
        frame_magic, size, kind, _, thread, _, check = FRAME.unpack_from(content, at)
        if frame_magic != FRAME_MAGIC or size < FRAME.size or size % 8 or at + size > len(content):
            faults.append((at, "no header", thread))
            break
        if check != check_of(kind, content[at + FRAME.size : at + size]):
            faults.append((at, "incomplete" if check == 0 else "damaged", thread))
        else:
            complete += 1
        at += size
    return complete, faults


def main():
    seed = int(os.environ.get("SEED", "1"))
    dice = random.Random(seed)
    frames = incomplete = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        environment = {**os.environ, "LD_LIBRARY_PATH": str(FOLDER), "LD_PRELOAD": str(LIBRARY),
                       "EXPERTSCOPE_ATTACH_FOLDER": str(folder)}
        for kill in range(KILLS):
            program = subprocess.Popen([FOLDER / "attached_subject", "getproc", "endless"], env=environment,
                                       stdout=subprocess.DEVNULL)
            time.sleep(dice.uniform(0.001, 0.03))
            program.kill()
            program.wait()
            for spool in folder.iterdir():
                complete, faults = faults_of(spool)
                frames += complete
                incomplete += len(faults)
                # One thread: at most its last frame.
                if len(faults) > 1 or any(fault[1] == "damaged" for fault in faults):
                    sys.exit(f"kill {kill} (seed {seed}): {spool.name}: {faults[:4]}")
                spool.unlink()
    print(f"{KILLS} kills, {frames} complete frames, {incomplete} last ones incomplete")
    if frames == 0:
        sys.exit("nothing was recorded")


main()
