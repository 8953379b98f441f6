"""An origin that is slow in three ways, on addresses of its own, so that each bad page may be of another host.

``/drip``: a byte a second; ``/never``: no answer; ``/file``: 1 GB, where all downloads together get 20 MB/s.
Run as a process of its own: ``python -m benchmarks.slow_origin`` prints its port.
"""

import asyncio
import time

HOSTS = tuple(f"127.0.1.{number}" for number in range(1, 11))
GB, RATE = 1_000_000_000, 20_000_000
PIECE = bytes(65_536)
LONGEST = 300.0
"""Seconds for which a client is kept that does not leave."""


class Origin:
    """Its addresses, and what all downloads have had so far."""

    def __init__(self) -> None:
        self._free_at = 0.0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(LONGEST):
                path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
                await self._send(path.decode(), writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass  # the client has left, which is what most do
        finally:
            writer.close()

    async def _send(self, path: str, writer: asyncio.StreamWriter) -> None:
        if path.startswith("/drip"):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n")
            for letter in b"<title>Drip</title><h1>Drip</h1>".ljust(1000):
                writer.write(bytes([letter]))
                await writer.drain()
                await asyncio.sleep(1.0)
        elif path.startswith("/file"):
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {GB}\r\n\r\n"
            writer.write(head.encode())
            for _ in range(GB // len(PIECE)):
                writer.write(PIECE)
                await writer.drain()
                await self._wait_for_turn()
            writer.write(bytes(GB % len(PIECE)))
            await writer.drain()
        else:
            await asyncio.sleep(LONGEST)

    async def _wait_for_turn(self) -> None:
        now = time.monotonic()
        self._free_at = max(self._free_at, now) + len(PIECE) / RATE
        await asyncio.sleep(self._free_at - now)


async def main() -> None:
    origin = Origin()
    first = await asyncio.start_server(origin.answer, HOSTS[0], 0)
    port = first.sockets[0].getsockname()[1]
    for host in HOSTS[1:]:
        await asyncio.start_server(origin.answer, host, port)
    print(port, flush=True)
    await first.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
