from datetime import timedelta

import pytest
from django.contrib.auth.models import User

from archivebox.accounts.login_links import LoginLink, make_login_token, peek_login_link, redeem_login_link

pytestmark = [pytest.mark.usefixtures("collection"), pytest.mark.database]


@pytest.fixture
def user() -> User:
    return User.objects.create_user("ada")


def test_a_link_can_be_looked_at_and_is_used_up_by_the_first(user: User) -> None:
    token = make_login_token(user.pk)
    assert [peek_login_link(token), peek_login_link(token)] == [user.pk, user.pk]
    assert redeem_login_link(token) == user.pk
    assert redeem_login_link(token) is None
    assert peek_login_link(token) is None


def test_an_expired_link_is_worth_nothing_and_is_cleared_away(user: User) -> None:
    token = make_login_token(user.pk, timedelta(seconds=-1))
    assert redeem_login_link(token) is None
    make_login_token(user.pk)
    assert LoginLink.objects.count() == 1


def test_only_the_hash_of_a_link_is_stored_and_any_text_may_be_asked_for(user: User) -> None:
    token = make_login_token(user.pk)
    assert token not in str(list(LoginLink.objects.values()))
    assert redeem_login_link("\udcff") is None
