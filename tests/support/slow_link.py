"""A slow link for tests: a TCP proxy that adds a delay and a limit of bandwidth in each direction, and counts bytes.

usage: python3 slow_link.py PORT ONE_WAY_MS MEGABITS   (prints its own port, then serves until it is killed)
"""

import asyncio
import sys
import time


class Direction:
    """Bytes of one direction: each piece leaves after its time on the wire, and arrives a delay later."""

    def __init__(self, delay_s, bytes_per_s):
        self.delay_s = delay_s
        self.bytes_per_s = bytes_per_s
        self.bytes = 0

    async def carry(self, reader, writer):
        queue = asyncio.Queue(maxsize=64)

        async def deliver():
            while True:
                arrival, piece = await queue.get()
                if piece is None:
                    writer.close()
                    return
                await asyncio.sleep(max(0.0, arrival - time.monotonic()))
                writer.write(piece)
                await writer.drain()

        delivery = asyncio.ensure_future(deliver())
        free_at = time.monotonic()
        try:
            while piece := await reader.read(16384):
                self.bytes += len(piece)
                free_at = max(free_at, time.monotonic()) + len(piece) / self.bytes_per_s
                await queue.put((free_at + self.delay_s, piece))
                await asyncio.sleep(max(0.0, free_at - time.monotonic()))
        except ConnectionError:
            pass
        await queue.put((0.0, None))
        try:
            await delivery
        except ConnectionError:
            pass


class SlowLink:
    def __init__(self, port, one_way_ms, megabits):
        self.port = port
        rate = megabits * 1e6 / 8
        self.there = Direction(one_way_ms / 1e3, rate)
        self.back = Direction(one_way_ms / 1e3, rate)

    async def serve(self, announce):
        async def one(reader, writer):
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.port)
            await asyncio.gather(self.there.carry(reader, far_writer), self.back.carry(far_reader, writer))

        server = await asyncio.start_server(one, "127.0.0.1", 0)
        announce(server.sockets[0].getsockname()[1])
        async with server:
            await server.serve_forever()


if __name__ == "__main__":
    link = SlowLink(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]))

    async def main():
        loop = asyncio.get_running_loop()
        # A line on standard input asks for the bytes so far.
        def report():
            if not sys.stdin.readline():
                loop.remove_reader(sys.stdin)
                return
            print(link.there.bytes, link.back.bytes, flush=True)

        loop.add_reader(sys.stdin, report)
        await link.serve(lambda port: print(port, flush=True))

    asyncio.run(main())
