"""Reads a Redfish service with DMTF's own client library.

Usage: redfish_reader.py URL USER PASSWORD
Prints a JSON list with the path, power state and reset types of each system, after a login with a session.
"""

import json
import sys

import redfish

RESET = "#ComputerSystem.Reset"


def main():
    url, user, password = sys.argv[1:]
    client = redfish.redfish_client(base_url=url, username=user, password=password)
    client.login(auth="session")
    systems = client.get(client.root.Systems["@odata.id"]).dict["Members"]
    found = []
    for member in systems:
        system = client.get(member["@odata.id"]).dict
        resets = system["Actions"][RESET].get("ResetType@Redfish.AllowableValues", [])
        found.append([member["@odata.id"], system["PowerState"], resets])
    client.logout()
    print(json.dumps(found))


main()
