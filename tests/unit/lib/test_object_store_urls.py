import pytest

from archivebox.lib.cloud_store import CloudStore
from archivebox.lib.object_store import FolderStore, open_store


@pytest.mark.parametrize("url", ["file:///srv/archive", "file://localhost/srv/a%20b"])
def test_a_folder_is_named_by_a_file_url(url: str) -> None:
    assert isinstance(open_store(url), FolderStore)


@pytest.mark.parametrize(
    "url",
    [
        "s3://archive",
        "s3://archive/a/b/?endpoint=https://s3.example.org&region=eu-1",
        "s3://archive?addressing=virtual",
        "gs://archive/a/b",
        "az://account/archive/a/b",
        "az://account/archive?endpoint=https://blob.example.org/account",
    ],
)
def test_a_bucket_is_named_by_the_url_of_its_cloud(url: str) -> None:
    assert isinstance(open_store(url), CloudStore)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "file:///folder"), ("/srv/archive", "file:///folder"), ("file://srv/archive", "file:///folder"),
        ("file:///srv?x=1", "file:///folder"), ("https://example.org/", "s3://"), ("s3:///prefix", "s3://bucket"),
        ("s3://key:secret@bucket/", "AWS_"), ("s3://bucket/../x", "key"), ("s3://bucket?zone=1", "region="),
        ("s3://bucket?endpoint=example.org", "https://"), ("s3://bucket?addressing=odd", "path or virtual"),
        ("gs://bucket?region=eu-1", "endpoint="), ("az://account", "az://account/container"),
    ],
)  # fmt: skip
def test_another_url_is_refused_with_the_form_it_has_to_have(url: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        open_store(url)
    assert "secret" not in str(refused.value)
