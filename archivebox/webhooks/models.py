"""Imports the models of webhooks, so that Django finds them."""

from archivebox.webhooks.delivery import Delivery
from archivebox.webhooks.webhook import Webhook

__all__ = ["Delivery", "Webhook"]
