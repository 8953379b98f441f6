"""Owns what is measured of a page's replay after its capture: it stands beside what its hook has measured."""

from uuid import UUID

from archivebox.base_models.transactions import write_transaction
from archivebox.core.archiveresult import ArchiveResult
from archivebox.core.snapshot import Snapshot
from archivebox.lib.jsonl import JSON

PLUGIN, PICTURE = "quality", "picture"
UNMEASURED = "Nothing else was measured of it: `archivebox update` has the plugin `quality` do that first."


def add_picture(snapshot_id: UUID, alike: float) -> bool:
    """Say how much of its picture the replay shows alike (0 to 1), until the hook measures anew.

    False where the hook has measured nothing.
    """
    percent = int(100 * alike)
    with write_transaction():
        result = ArchiveResult.objects.filter(snapshot_id=snapshot_id, plugin=PLUGIN, status="succeeded").first()
        said = result.output_json if result is not None else None
        if result is None or not isinstance(said, dict) or not isinstance(known := said.get("measures"), list):
            return False
        others = [one for one in known if isinstance(one, dict) and one.get("name") != PICTURE]
        measures = [*others, {"name": PICTURE, "percent": percent, "sentence": _sentence(percent)}]
        ArchiveResult.objects.filter(pk=result.pk).update(output_json={**said, "measures": measures})
        Snapshot.objects.filter(pk=snapshot_id).update(quality=_lowest(measures))
    return True


def _sentence(percent: int) -> str:
    if percent == 100:
        return "Its replay looks like the picture that was kept."
    return f"{percent} % of its replay looks like the picture that was kept."


def _lowest(measures: list[dict[str, JSON]]) -> int:
    return min(percent for one in measures if isinstance(percent := one.get("percent"), int))
