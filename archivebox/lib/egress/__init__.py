"""The proxy of crawls, on loopback: it resolves, checks, connects, counts and logs. It uses no rows."""

from archivebox.lib.egress.connection_log import ConnectionLog, Totals, read_totals, sum_totals
from archivebox.lib.egress.dialing import Dialer, DialRules, Upstream
from archivebox.lib.egress.posting import Message, PostResponse, post
from archivebox.lib.egress.proxy_listener import ConnectionPolicy, ProxyListener
from archivebox.lib.egress.proxy_requests import Endpoint, NotConnected, NotConnectedReason

__all__ = [
    "ConnectionLog",
    "ConnectionPolicy",
    "DialRules",
    "Dialer",
    "Endpoint",
    "Message",
    "NotConnected",
    "NotConnectedReason",
    "PostResponse",
    "ProxyListener",
    "Totals",
    "Upstream",
    "post",
    "read_totals",
    "sum_totals",
]
