"""Webhooks and deliveries in the admin."""

from django.contrib import admin
from django.urls import reverse

from archivebox.web.admin.rows import RowAdmin
from archivebox.webhooks.models import Delivery, Webhook


@admin.register(Webhook)
class WebhookAdmin(RowAdmin[Webhook]):
    list_display = ("__str__", "url", "events", "succeeded_at", "disabled_at", "created_by")
    search_fields = ("label", "url")
    list_select_related = ("created_by",)
    exclude = ("secret",)

    def get_view_on_site_url(self, obj: Webhook | None = None) -> str | None:
        return None if obj is None else reverse("webhook", args=[obj.pk])


@admin.register(Delivery)
class DeliveryAdmin(RowAdmin[Delivery]):
    list_display = ("event", "status", "tries", "http_status", "tried_at", "retry_at")
    list_filter = ("status", "event")
