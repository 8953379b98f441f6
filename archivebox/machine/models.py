"""Imports the models of machines, so that Django finds them."""

from archivebox.machine.binary import Binary
from archivebox.machine.fleet_setting import FleetSetting, SharedSecret
from archivebox.machine.host import Machine, NetworkInterface
from archivebox.machine.periodic import PeriodicTask
from archivebox.machine.process import Process
from archivebox.machine.throttle import AttemptCount

__all__ = [
    "AttemptCount",
    "Binary",
    "FleetSetting",
    "Machine",
    "NetworkInterface",
    "PeriodicTask",
    "Process",
    "SharedSecret",
]
