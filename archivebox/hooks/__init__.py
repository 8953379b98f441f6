"""Hooks as the engine sees them: which there are, how one is called, and what becomes of the records it prints."""

from archivebox.contract.hooknames import extract_step, is_background_hook
from archivebox.hooks.calls import (
    APPLICATION,
    INHERITED,
    Call,
    HookCall,
    Proxy,
    environment_of_process,
    lib_dir,
    prepare_hook,
    script_environment,
)
from archivebox.hooks.records import process_hook_records, refusal_of
from archivebox.hooks.registry import (
    as_nobody,
    base_layers,
    check_settings,
    crawl_layers,
    discover_hooks,
    forget_plugins,
    known_providers,
    known_settings,
    learn_finite,
    learned_as_finite,
    needed_programs,
    outputs_of,
    plugins,
    resolve_settings,
)
from archivebox.hooks.running import run_hook

__all__ = [
    "APPLICATION",
    "INHERITED",
    "Call",
    "HookCall",
    "Proxy",
    "as_nobody",
    "base_layers",
    "check_settings",
    "crawl_layers",
    "discover_hooks",
    "environment_of_process",
    "extract_step",
    "forget_plugins",
    "is_background_hook",
    "known_providers",
    "known_settings",
    "learn_finite",
    "learned_as_finite",
    "lib_dir",
    "needed_programs",
    "outputs_of",
    "plugins",
    "prepare_hook",
    "process_hook_records",
    "refusal_of",
    "resolve_settings",
    "run_hook",
    "script_environment",
]
