"""What the Python programs share: the convention of bench/peers/README.md."""

import os
import sys
import time

POLL_EVERY = 0.5


def password():
    with open(os.environ["PEER_PASSWORD_FILE"], encoding="utf-8") as file:
        return file.read().strip()


def until(read, wanted):
    while read() != wanted:
        time.sleep(POLL_EVERY)
    return wanted


def repeat(state, change, pxe_once, inventory, insert_media=None):
    operations = {
        "state": state,
        "on": lambda: change("on"),
        "off": lambda: change("off"),
        "pxe-once": pxe_once,
        "inventory": inventory,
        "insert-media": insert_media,
    }
    operate = operations[os.environ["PEER_OPERATION"]]
    for done in range(int(os.environ["PEER_REPEAT"])):
        if done and not sys.stdin.readline():
            return
        print(operate(), flush=True)
