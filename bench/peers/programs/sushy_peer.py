"""Drives a Redfish BMC with sushy, as bench/peers/README.md describes."""

import os
import re

import sushy
from peer import password, repeat, until
from sushy import auth

scheme = os.environ.get("PEER_SCHEME", "http")
url = f"{scheme}://{os.environ['PEER_HOST']}:{os.environ['PEER_PORT']}"
credentials = auth.BasicAuth(os.environ["PEER_USERNAME"], password())
# Ten retries of what the server does not implement would be all that is measured.
root = sushy.Sushy(url, auth=credentials, verify=True, server_side_retries=0)
systems = root.get_system_collection()
machine = systems.get_members()[0]


def state():
    machine.refresh(force=True)
    return machine.power_state.value.lower()


def change(wanted):
    machine.reset_system({"on": sushy.RESET_ON, "off": sushy.RESET_FORCE_OFF}[wanted])
    return until(state, wanted)


def pxe_once():
    machine.set_system_boot_options(
        target=sushy.BOOT_SOURCE_TARGET_PXE,
        enabled=sushy.BOOT_SOURCE_ENABLED_ONCE,
        mode=sushy.BOOT_SOURCE_MODE_UEFI,
    )
    machine.refresh(force=True)
    boot = machine.boot
    if (boot.target, boot.enabled) != (sushy.BOOT_SOURCE_TARGET_PXE, sushy.BOOT_SOURCE_ENABLED_ONCE):
        raise SystemExit(f"the boot device is {boot.target.value}, {boot.enabled.value}")
    return "pxe"


def parts(name):
    """The parts of a kind; 0 if the BMC does not have the collection, or sushy cannot read it."""
    try:
        found = getattr(machine, name)
        found.refresh(force=True)
        return len(found.get_members())
    except sushy.exceptions.SushyError:
        return 0


def inventory():
    machine.refresh(force=True)
    manager = machine.managers[0]
    counts = [parts(name) for name in ("processors", "ethernet_interfaces", "storage")]
    memory = machine.memory_summary
    size = memory.size_gib if memory else 0
    return re.sub(r"\s+", " ", f"{machine.serial_number or machine.uuid} {manager.firmware_version} {counts} {size} GiB")


def insert_media():
    image = os.environ["PEER_MEDIA_URL"]
    for drive in machine.managers[0].virtual_media.get_members():
        if sushy.VIRTUAL_MEDIA_CD in (drive.media_types or []):
            if drive.inserted:
                drive.eject_media()
            drive.insert_media(image)
            drive.refresh(force=True)
            if not drive.inserted:
                raise SystemExit("the image is not inserted")
            return "inserted"
    raise SystemExit("there is no CD drive")


repeat(state, change, pxe_once, inventory, insert_media)
