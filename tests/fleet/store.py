"""Owns the object store of a fleet: a server that speaks S3 in a namespace of its own, which fails and is slow."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.fleet.network import FleetNetwork
from tests.namespaces import Namespace
from tests.suite.swift import SwiftServer, make_bucket, swift_server

NAME, NUMBER = "store", 3
"""Of its cable, and the last number of its address."""
BUCKET = "pages"
SLOW = ("rate", "512kbit", "burst", "16kb", "latency", "2s")
"""tbf(8): 64 kB a second each way, of which two seconds wait; what comes on top is lost, and sent again."""


class FleetStore:
    """What all machines have as STORAGE_URL."""

    def __init__(self, network: FleetNetwork, namespace: Namespace, server: SwiftServer) -> None:
        self._network, self._namespace, self._server = network, namespace, server

    @property
    def settings(self) -> Mapping[str, str]:
        return {"STORAGE_URL": self._server.url(BUCKET, "one"), **self._server.environment}

    def stop(self) -> None:
        """It refuses connections from now on."""
        self._server.stop()

    def start(self) -> None:
        self._server.start()

    @contextmanager
    def slow(self) -> Iterator[None]:
        """Its cable carries little."""
        ends = (self._network.inside, NAME), (self._namespace.in_network, "eth0")
        for inside, cable in ends:
            subprocess.run(inside("tc", "qdisc", "add", "dev", cable, "root", "tbf", *SLOW), check=True)
        try:
            yield
        finally:
            for inside, cable in ends:
                subprocess.run(inside("tc", "qdisc", "delete", "dev", cable, "root"), check=True)


@contextmanager
def fleet_store(network: FleetNetwork) -> Iterator[FleetStore]:
    namespace = Namespace(net=True)
    try:
        address = network.connect(namespace, NAME, NUMBER)
        with swift_server(namespace.in_network(), address) as server:
            make_bucket(server, BUCKET)
            yield FleetStore(network, namespace, server)
    finally:
        namespace.kill()
