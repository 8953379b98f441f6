"""Owns what supervisord is told: which two programs it keeps alive, and how."""

import re
import shlex
import sys
from collections.abc import Sequence

from archivebox.lib.addresses import ListenAddress
from archivebox.lib.system_calls import LEAST

LONGEST_SOCKET = 100
"""Bytes of a socket's path that every system takes (Linux 107, macOS 103), supervisord's own suffix included."""

_ADDRESS = re.compile(r"--(?:bind|replay) '?([^\s']+)")
_CONF = """\
[supervisord]
nodaemon = true
umask = 077
logfile = /dev/null
logfile_maxbytes = 0
pidfile = %(here)s/supervisord.pid
minfds = {files}

[program:web]
command = {web}
directory = %(here)s/..
priority = 20
autorestart = true
startsecs = 2
startretries = 60
stopwaitsecs = 10
redirect_stderr = true
stdout_logfile = %(here)s/../logs/web.log
stdout_logfile_maxbytes = 10MB
stdout_logfile_backups = 2

[program:orchestrator]
command = {orchestrator}
directory = %(here)s/..
priority = 10
autorestart = true
startsecs = 2
startretries = 60
stopwaitsecs = 30
redirect_stderr = true
stdout_logfile = %(here)s/../logs/orchestrator.log
stdout_logfile_maxbytes = 10MB
stdout_logfile_backups = 2
"""
_SOCKET = """
[unix_http_server]
file = %(here)s/supervisord.sock
chmod = 0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory = supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl = unix://%(here)s/supervisord.sock
"""


def conf_text(bind: ListenAddress, replay: ListenAddress, *, socket_path: str) -> str:
    """The conf file. Paths in it are relative to its own folder, so that no path of the user's has to be quoted.

    The control socket is left out where its path would be too long for the system; nothing of ours needs it.
    """
    web = ["-m", "archivebox.web.server", "--bind", str(bind), "--replay", str(replay)]
    text = _CONF.format(
        files=LEAST,
        web=_command(web),
        orchestrator=_command(["-m", "archivebox", "orchestrator", "--wait", "--commands"]),
    )
    return text + (_SOCKET if len(socket_path.encode()) <= LONGEST_SOCKET else "")


def addresses_in(text: str) -> tuple[ListenAddress, ...]:
    """Where the web server of such a conf listens: for the app, then for archived pages."""
    return tuple(ListenAddress.parse(found) for found in _ADDRESS.findall(text))


def _command(arguments: Sequence[str]) -> str:
    """As supervisord reads it: split by shlex, and ``%`` written twice. No shell is involved."""
    return shlex.join([sys.executable, *arguments]).replace("%", "%%")
