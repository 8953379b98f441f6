"""Owns the signature of messages: Standard Webhooks, 1.0 (github.com/standard-webhooks/standard-webhooks, spec)."""

import base64
import hashlib
import hmac

from archivebox.webhooks.models import SECRET_PREFIX


def signed_fields(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three header fields by which a receiver knows that a message is ours, whole, new, and not yet seen."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": f"v1,{signature}"}
