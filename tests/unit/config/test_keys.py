from __future__ import annotations

from pathlib import Path

from archivebox.config.keys import make_login_token, peek_login_link, redeem_login_link, secret_key
from archivebox.storage.layout import DataFolder


def folder(tmp_path: Path) -> DataFolder:
    made = DataFolder(tmp_path)
    made.create()
    return made


def test_the_key_is_made_once_and_is_ours_alone(tmp_path: Path) -> None:
    data = folder(tmp_path)
    key = secret_key(data)
    assert len(key) == 64
    assert secret_key(data) == key
    assert data.secret_key.stat().st_mode & 0o777 == 0o600


def test_a_link_can_be_looked_at_and_is_used_up_by_the_first(tmp_path: Path) -> None:
    data = folder(tmp_path)
    token = make_login_token(data, 7)
    assert peek_login_link(data, token) == 7
    assert peek_login_link(data, token) == 7
    assert redeem_login_link(data, token) == 7
    assert redeem_login_link(data, token) is None
    assert peek_login_link(data, token) is None


def test_an_expired_link_is_worth_nothing_and_is_cleared_away(tmp_path: Path) -> None:
    data = folder(tmp_path)
    token = make_login_token(data, 7, lifetime=-1)
    assert redeem_login_link(data, token) is None
    make_login_token(data, 8, lifetime=-1)
    make_login_token(data, 9)
    assert len(list(data.login_links.iterdir())) == 1


def test_no_text_of_a_link_leads_out_of_the_folder(tmp_path: Path) -> None:
    data = folder(tmp_path)
    assert peek_login_link(data, "../secret-key") is None
    assert redeem_login_link(data, "\udcff") is None
