"""Exports as WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/): recordings with index and list of pages."""
