"""Owns what all lists of the admin share: they only read, and never count millions of rows."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib import admin
from django.core.paginator import Paginator
from django.db import models
from django.http import HttpRequest

Kind = TypeVar("Kind", bound=models.Model)

COUNTED = 10_000
"""Rows that are counted: enough to page through by hand; who looks for more filters or searches."""

if TYPE_CHECKING:
    BoundedBase = Paginator[Any]
else:
    BoundedBase = Paginator


class BoundedPaginator(BoundedBase):
    """Says "10,000" of everything above: a full count of 5,000,000 rows takes seconds, each time."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        if isinstance(rows, models.QuerySet):
            return int(rows.order_by()[:COUNTED].count())
        return len(rows)


class StatusFilter(admin.SimpleListFilter):
    """The statuses that the model names; Django's own would look for the distinct ones in every row."""

    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: "admin.ModelAdmin[Any]") -> list[tuple[str, str]]:
        del request
        choices: type[models.TextChoices] = model_admin.model.StatusChoices
        return [(value, label) for value, label in choices.choices]

    def queryset(self, request: HttpRequest, queryset: "models.QuerySet[Any]") -> "models.QuerySet[Any]":
        del request
        return queryset.filter(status=self.value()) if self.value() else queryset


if TYPE_CHECKING:
    AdminBase = admin.ModelAdmin
else:

    class AdminBase(admin.ModelAdmin):
        """Takes a type in brackets, which Django's own class does only for the type checker."""

        def __class_getitem__(cls, _item: object) -> type:
            return cls


class RowAdmin(AdminBase[Kind]):
    """The newest first, found through the primary key; nothing can be changed by hand behind the engine's back."""

    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    ordering = ("-id",)

    def get_readonly_fields(self, request: HttpRequest, obj: Kind | None = None) -> tuple[str, ...]:
        return tuple(map(str, super().get_readonly_fields(request, obj)))

    def has_add_permission(self, request: HttpRequest) -> bool:
        del request
        return False

    def has_change_permission(self, request: HttpRequest, obj: Kind | None = None) -> bool:
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Kind | None = None) -> bool:
        del request, obj
        return False
