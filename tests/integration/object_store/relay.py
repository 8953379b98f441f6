"""A connection to a server that breaks after some bytes of its answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class BreakingRelay:
    """Passes on what comes to its port, and closes as many connections as it is told after so many bytes of answers."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._most, self._times = 0, 0

    def break_after(self, size: int, times: int) -> None:
        self._most, self._times = size, times

    def serve(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pass_on, args=(server, client, True), daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with suppress(OSError):
            passed = 0
            while data := source.recv(65_536):
                passed += len(data)
                if is_answer and self._times and passed > self._most:
                    self._times -= 1
                    break
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextmanager
def breaking_relay(port: int) -> Iterator[BreakingRelay]:
    relay = BreakingRelay(port)
    serving = threading.Thread(target=relay.serve)
    serving.start()
    try:
        yield relay
    finally:
        relay.close()
        serving.join()
