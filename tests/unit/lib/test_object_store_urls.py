import pytest

from archivebox.lib.object_store import open_store
from archivebox.lib.object_store.folder import FolderStore
from archivebox.lib.object_store.interface import MOST_PARTS, PART, parts_of
from archivebox.lib.object_store.s3 import S3Store


@pytest.mark.parametrize("url", ["file:///srv/archive", "file://localhost/srv/a%20b"])
def test_a_folder_is_named_by_a_file_url(url: str) -> None:
    assert isinstance(open_store(url), FolderStore)


@pytest.mark.parametrize(
    "url",
    [
        "s3://archive",
        "s3://archive/a/b/?endpoint=https://s3.example.org&region=eu-1",
        "s3://archive?addressing=virtual",
    ],
)
def test_a_bucket_is_named_by_an_s3_url(url: str) -> None:
    assert isinstance(open_store(url), S3Store)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "file:///folder"), ("/srv/archive", "file:///folder"), ("file://srv/archive", "file:///folder"),
        ("file:///srv?x=1", "file:///folder"), ("https://example.org/", "s3://"), ("s3:///prefix", "s3://bucket"),
        ("s3://key:secret@bucket/", "AWS_"), ("s3://bucket/../x", "key"), ("s3://bucket?zone=1", "region="),
        ("s3://bucket?endpoint=example.org", "https://"), ("s3://bucket?addressing=odd", "path or virtual"),
    ],
)  # fmt: skip
def test_another_url_is_refused_with_the_form_it_has_to_have(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("size", [1, PART, PART + 1, 10**9, 5 * 10**12])
def test_parts_are_all_of_an_object_and_never_too_many(size: int) -> None:
    parts = list(parts_of(size))
    assert len(parts) <= MOST_PARTS
    assert sum(part.size for part in parts) == size
    assert [part.start for part in parts] == [sum(part.size for part in parts[:index]) for index in range(len(parts))]
    assert all(PART <= part.size <= 5 * 1024**3 for part in parts[:-1])
