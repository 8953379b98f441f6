"""Run on a machine of a fleet: opens every page as people do, verifies it, and prints what it found as JSON."""

import json
import os

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "archivebox.web.settings"
django.setup()

from django.contrib.auth.models import User  # noqa: E402 - models can be imported only now
from django.test import Client  # noqa: E402

from archivebox.config.collection import open_collection  # noqa: E402
from archivebox.core.evidence.verification import problems_of  # noqa: E402
from archivebox.core.snapshot import Snapshot  # noqa: E402
from archivebox.lib.files import iter_outputs  # noqa: E402


def main() -> None:
    open_collection(create=False)
    client = Client(SERVER_NAME="localhost", raise_request_exception=False)
    client.force_login(User.objects.get_or_create(username="opener", is_superuser=True, is_staff=True)[0])
    pages = list(Snapshot.objects.select_related("crawl"))
    problems = {str(key): problem for key, problem in problems_of(pages).items() if problem}
    found = {}
    for page in pages:
        status = client.get(f"/snapshots/{page.pk}/").status_code
        files = sum(1 for _ in iter_outputs(page.path))
        found[str(page.pk)] = {"status": status, "files": files, "problem": problems.get(str(page.pk), "")}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
