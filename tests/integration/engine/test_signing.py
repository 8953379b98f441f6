"""What was hashed is signed at the seal, however often that is begun, and again when it is hashed anew."""

from __future__ import annotations

import json

import pytest

from archivebox.lib.signatures import SIGNING_KEY
from tests.integration.engine.driver import Collection

BODY = "echo words > words.txt\n"
END = 'echo ends >> "$DATA_DIR/ledger"\nwhile [ ! -e "$DATA_DIR/go" ]; do sleep 0.1; done\n'


def signed(made: Collection) -> dict[str, str]:
    """What the signature says; it is a file of the result, and of nothing else."""
    result = made.results()["hashes"]
    row = made.row("ArchiveResult", "output_files", pk=result["pk"])
    assert {"hashes.json", "signature.json", "signature.pem", "signature.sig"} == set(row["output_files"])
    folder = made.root / made.row("Snapshot", "output_dir")["output_dir"]
    said: dict[str, str] = json.loads((folder / "hashes" / "signature.json").read_text())
    return said


@pytest.mark.default
def test_after_a_failure_of_power_between_hashes_and_signature_it_is_signed(forked: Collection) -> None:
    forked.names += ["hashes", "timestamp"]
    forked.settings |= {"TIMESTAMP_ENABLED": "true", "TIMESTAMP_URL": "http://127.0.0.1:9/"}
    forked.plugin("words", {"on_Snapshot__57_words.sh": BODY, "on_SnapshotEnd__10_end.sh": END})
    crawl = forked.add()
    forked.watch()
    forked.wait_ledger("ends")
    forked.kill()
    folder = forked.root / forked.row("Snapshot", "output_dir")["output_dir"] / "hashes"
    assert [path.name for path in folder.iterdir()] == ["hashes.json"]
    (forked.root / "go").touch()
    forked.run(crawl)

    stamp = forked.results()["timestamp"]
    assert (stamp["status"], bool(stamp["retry_at"])) == ("backoff", True)
    assert "127.0.0.1:9 cannot be reached" in stamp["output_str"]
    assert signed(forked)["url"] == "http://one.test/"
    assert (forked.root / "keys" / SIGNING_KEY).stat().st_mode & 0o777 == 0o600
