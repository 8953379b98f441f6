"""Runs one hook outside any worker: the synchronous way."""

from collections.abc import Mapping
from pathlib import Path

from archivebox.config.resolve import SettingsResolver
from archivebox.contract import discovery
from archivebox.contract.discovery import Plugin
from archivebox.contract.hook import Hook
from archivebox.contract.hooknames import parse_hook_name
from archivebox.hooks.calls import HOOK_PATH, Call, Proxy, prepare_hook, snapshot_folders
from archivebox.hooks.registry import crawl_layers, plugins
from archivebox.lib.jsonl import JSON
from archivebox.machine.host import Machine
from archivebox.machine.process import Process
from archivebox.storage.shared_files import own_files


def run_hook(
    script: Path,
    output_dir: Path,
    config: Mapping[str, JSON],
    timeout: int | None = None,
    parent_process: Process | None = None,
    *,
    crawl_dir: Path | None = None,
    binaries: Mapping[str, str] | None = None,
    proxy: Proxy | None = None,
    **kwargs: object,
) -> Process:
    """Run one hook script outside any worker and return its Process: ended, or running if it is a background hook.

    ``script`` may lie anywhere: its folder counts as its plugin. ``output_dir`` is where it runs. ``kwargs`` become
    options (``snapshot_id=…`` → ``--snapshot-id=…``). ``crawl_dir``: where the hooks of the Crawl ran, for one of a
    Snapshot. ``binaries``: name → path of programs. ``proxy``: by which it goes out.
    """
    plugin, hook = _plugin_and_hook_of(script)
    arguments = {name.replace("_", "-"): str(value) for name, value in kwargs.items()}
    settings = SettingsResolver({**plugins(), plugin.name: plugin}).resolve(crawl_layers(config))
    ids = {name: str(value) for name, value in kwargs.items() if name.endswith("_id")}
    folders = _folders(ids, output_dir.parent, crawl_dir)
    call = Call(output_dir.parent, arguments, ids, folders, settings, binaries or {}, proxy=proxy)
    prepared = prepare_hook(hook, call)
    if "snapshot_id" in ids:
        own_files(output_dir.parent, output_dir.name)
    process = Process(
        machine=Machine.current(),
        parent=parent_process or Process.current(),
        process_type=Process.TypeChoices.HOOK,
        plugin=hook.plugin,
        hook_name=hook.file_name,
        cmd=list(prepared.argv),
        pwd=str(output_dir),
        env=prepared.env_names,
        timeout=timeout or prepared.timeout,
        **{name: ids[name] for name in ("crawl_id", "snapshot_id", "binary_id") if name in ids},
    )
    process.launch_env = {**prepared.env, "PYTHONPATH": str(HOOK_PATH)}
    return process.launch(background=hook.background)


def _folders(ids: Mapping[str, str], object_dir: Path, crawl_dir: Path | None) -> dict[str, str]:
    """The folders of the object that a hook is run for, by the names that hooks know them under."""
    snapshot = snapshot_folders(object_dir) if "snapshot_id" in ids else {}
    crawl = crawl_dir or (object_dir if "crawl_id" in ids and not snapshot else None)
    return snapshot | ({"CRAWL_DIR": str(crawl), "CRAWL_OUTPUT_DIR": str(crawl)} if crawl else {})


def _plugin_and_hook_of(script: Path) -> tuple[Plugin, Hook]:
    own = discovery.read_plugin(script.parent.name, script.parent)
    for plugin in (*plugins().values(), *([own] if own else [])):
        for hook in plugin.hooks:
            if hook.path == script:
                return plugin, hook
    problem = "is not there" if not script.exists() else "has no hook's name"
    example = "on_Snapshot__51_screenshot.py"
    message = f"{script} {problem}: {parse_hook_name(script.name) or example}"
    raise FileNotFoundError(message)
