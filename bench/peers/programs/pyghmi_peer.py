"""Drives an IPMI BMC with pyghmi, as bench/peers/README.md describes."""

import os

from peer import password, repeat, until
from pyghmi.ipmi import command

bmc = command.Command(
    bmc=os.environ["PEER_HOST"],
    port=int(os.environ["PEER_PORT"]),
    userid=os.environ["PEER_USERNAME"],
    password=password(),
    keepalive=False,
)


def state():
    return bmc.get_power()["powerstate"]


def change(wanted):
    bmc.set_power(wanted)
    return until(state, wanted)


def pxe_once():
    bmc.set_bootdev("network", uefiboot=True)
    found = bmc.get_bootdev()
    if found.get("bootdev") != "network" or found.get("persistent"):
        raise SystemExit(f"the boot device is {found}")
    return "pxe"


def inventory():
    system = bmc.get_inventory_of_component("System")
    return f"{system['Serial Number']}, {system.get('Model')}"


repeat(state, change, pxe_once, inventory)
bmc.ipmi_session.logout()
