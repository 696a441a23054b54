"""Drives a Redfish BMC with sushy, the client library of OpenStack Ironic.

Usage: sushy_client.py URL USER PASSWORD basic|session SYSTEM_PATH STEP...
Steps: power | reset:TYPE | boot | boot:TARGET:ENABLED:MODE
Prints a JSON list with what each step gave.
"""

import json
import sys

import sushy
from sushy import auth


def boot_of(system):
    boot = system.boot
    return [boot.target.value, boot.enabled.value, boot.mode.value]


def run(system, step):
    name, *values = step.split(":")
    system.refresh(force=True)
    if name == "power":
        return system.power_state.value
    if name == "reset":
        return system.reset_system(sushy.ResetType(values[0]))
    if name == "boot" and not values:
        return boot_of(system)
    if name == "boot":
        target, enabled, mode = values
        return system.set_system_boot_options(
            target=sushy.BootSource(target),
            enabled=sushy.BootSourceOverrideEnabled(enabled),
            mode=sushy.BootSourceOverrideMode(mode),
        )
    raise SystemExit(f"unknown step {step}")


def main():
    url, user, password, mode, path, *steps = sys.argv[1:]
    kind = {"basic": auth.BasicAuth, "session": auth.SessionAuth}[mode]
    credentials = kind(user, password)
    root = sushy.Sushy(url, auth=credentials, verify=False)
    system = root.get_system(path)
    print(json.dumps([run(system, step) for step in steps]))
    if mode == "session":
        credentials.close()


main()
