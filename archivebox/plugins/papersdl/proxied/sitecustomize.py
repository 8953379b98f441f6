"""Has papers-dl use the proxy that the environment names: its HTTP client does so only when it is told to."""

import functools
import importlib

aiohttp = importlib.import_module("aiohttp")
aiohttp.ClientSession.__init__ = functools.partialmethod(aiohttp.ClientSession.__init__, trust_env=True)
