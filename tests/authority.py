"""A time stamp authority on loopback, with certificates of its own: openssl makes what it answers."""

from __future__ import annotations

import datetime as dt
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests.loopback import serving

CONFIGURATION = """
[tsa]
default_tsa = here
[here]
serial = {folder}/serial
default_policy = 1.2.3.4.1
digests = {digests}
signer_digest = sha256
ess_cert_id_alg = sha256
"""


@dataclass(frozen=True)
class Authority:
    """Where it answers, and the certificate by which it is known."""

    url: str
    root: Path


class StandIn(BaseHTTPRequestHandler):
    """Stamps what it is asked to, but for addresses that name a trouble."""

    folder: Path

    def do_POST(self) -> None:
        question = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/status/"):
            return self.answer(int(self.path.rpartition("/")[2]), b"")
        return self.answer(200, b"nothing" if self.path == "/nonsense" else self.stamp(question))

    def stamp(self, question: bytes) -> bytes:
        (self.folder / "query").write_bytes(question)
        configuration = "refusing" if self.path == "/refused" else "configuration"
        command = ["openssl", "ts", "-reply", "-config", configuration, "-queryfile", "query", "-out", "reply"]
        given = ["-signer", "authority.pem", "-inkey", "authority.key", "-chain", "root.pem"]
        subprocess.run([*command, *given], cwd=self.folder, check=True, capture_output=True)
        return (self.folder / "reply").read_bytes()

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (its name in http.server)
        """Nothing is said."""


@contextmanager
def authority(folder: Path) -> Iterator[Authority]:
    """One that answers until it is left."""
    folder.mkdir(exist_ok=True)
    make_certificates(folder)
    for name, digests in (("configuration", "sha256"), ("refusing", "sha512")):
        (folder / name).write_text(CONFIGURATION.format(folder=folder, digests=digests))
    (folder / "serial").write_text("01\n")
    handler = type("Handler", (StandIn,), {"folder": folder})
    with serving(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as url:
        yield Authority(url, folder / "root.pem")


def make_certificates(folder: Path) -> None:
    root_key, own_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    names = (f"Root of {folder.name}", f"Time of {folder.name}")
    root_name, own_name = (x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]) for name in names)
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
    root = begun(root_name, root_key.public_key(), root_name).add_extension(x509.BasicConstraints(True, None), True)
    own = begun(own_name, own_key.public_key(), root_name).add_extension(usage, critical=True)
    (folder / "root.pem").write_bytes(root.sign(root_key, hashes.SHA256()).public_bytes(Encoding.PEM))
    (folder / "authority.pem").write_bytes(own.sign(root_key, hashes.SHA256()).public_bytes(Encoding.PEM))
    key = own_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "authority.key").write_bytes(key)


def begun(name: x509.Name, key: ec.EllipticCurvePublicKey, issuer: x509.Name) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
    )
