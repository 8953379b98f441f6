"""Shop window of the models of webhooks."""

from archivebox.webhooks.delivery import Delivery
from archivebox.webhooks.webhook import Webhook

__all__ = ["Delivery", "Webhook"]
