"""Runs OpenStack Swift in one process until its standard input ends: accounts, containers, objects, and S3 before them.

Run by the interpreter for which the system's packages installed Swift, with the arguments FOLDER,
ADDRESS:PORT, USER, SECRET and PAGE. It prints its port when it answers there, and removes FOLDER when nobody holds its
input.
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from socket import socket
from typing import NoReturn

import eventlet

eventlet.monkey_patch(thread=False)

from eventlet import hubs, wsgi  # noqa: E402
from swift.common import utils  # noqa: E402
from swift.common.ring import RingBuilder  # noqa: E402

KINDS = ("account", "container", "object")
DEVICE = "disk"
BACKLOG = 128
PROXY = """\
[DEFAULT]
swift_dir = {folder}
log_level = WARNING
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth copy slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
node_timeout = 30
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{cache}
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
max_bucket_listing = {page}
[filter:tempauth]
use = egg:swift#tempauth
user_test_{user} = {secret} .admin
[filter:copy]
use = egg:swift#copy
[filter:slo]
use = egg:swift#slo
"""
SERVER = """\
[DEFAULT]
swift_dir = {folder}
devices = {folder}/devices
mount_check = false
disable_fallocate = true
fallocate_reserve = 0
log_level = WARNING
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""


def write_rings(folder: Path, ports: dict[str, int]) -> None:
    for kind, port in ports.items():
        builder = RingBuilder(1, 1, 0)
        place = {"region": 1, "zone": 1, "weight": 1, "ip": "127.0.0.1", "port": port, "device": DEVICE}
        builder.add_dev(place)
        builder.rebalance(seed=1)
        builder.get_ring().save(str(folder / f"{kind}.ring.gz"))


def start_cache(folder: Path) -> int:
    """Start memcached, which ends with this process, and return its port."""
    told = folder / "memcached.port"
    command = [
        "memcached",
        "-l",
        "127.0.0.1",
        "-p",
        "-1",
        "-U",
        "0",
        "-m",
        "64",
        "-u",
        pwd.getpwuid(os.getuid()).pw_name,
    ]
    env = {**os.environ, "MEMCACHED_PORT_FILENAME": str(told)}
    told.unlink(missing_ok=True)
    subprocess.Popen(["setpriv", "--pdeathsig=KILL", *command], env=env, stdin=subprocess.DEVNULL)
    while not told.exists():  # it is renamed into place
        eventlet.sleep(0.01)
    return int(told.read_text().rpartition(":")[2])


def serve(name: str, configuration: str, folder: Path, sock: socket) -> None:
    from swift.common.wsgi import SwiftHttpProtocol, loadapp  # after swift.conf was read

    path = folder / f"{name}-server.conf"
    path.write_text(configuration)
    app = loadapp(str(path), global_conf={"log_name": name})
    eventlet.spawn(wsgi.server, sock, app, utils.NullLogger(), protocol=SwiftHttpProtocol, log_output=False)


def remove_and_exit(folder: Path) -> NoReturn:
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def main(place: str, listens: str, user: str, secret: str, page: str) -> None:
    folder = Path(place)
    (folder / "devices" / DEVICE).mkdir(parents=True, exist_ok=True)
    (folder / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = tests\n")
    utils.set_swift_dir(str(folder))
    address, _, port = listens.rpartition(":")
    proxy = eventlet.listen((address, int(port)), backlog=BACKLOG)
    sockets = {kind: eventlet.listen(("127.0.0.1", 0), backlog=BACKLOG) for kind in KINDS}
    write_rings(folder, {kind: sock.getsockname()[1] for kind, sock in sockets.items()})
    for kind, sock in sockets.items():
        serve(kind, SERVER.format(folder=folder, kind=kind), folder, sock)
    serve(
        "proxy",
        PROXY.format(folder=folder, user=user, secret=secret, page=page, cache=start_cache(folder)),
        folder,
        proxy,
    )
    print(proxy.getsockname()[1], flush=True)
    signal.signal(signal.SIGTERM, lambda *_: remove_and_exit(folder))
    while True:
        hubs.trampoline(0, read=True)
        if not os.read(0, 100):
            remove_and_exit(folder)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests, which end first
    main(*sys.argv[1:])
