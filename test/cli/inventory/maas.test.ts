import { describe, expect, it } from "vitest";
import { readMaas } from "../../../cli/inventory/import/maas.ts";

const machines = (...types: readonly string[]) =>
  types.map((power_type, index) => ({
    system_id: `id${index + 1}`,
    hostname: `Node-${index + 1}`,
    power_type,
    power_state: "on",
    interface_set: [],
  }));
const ipmi = { power_driver: "LAN_2_0", power_address: "192.0.2.1", power_user: "maas", power_pass: "p1" };

describe("a MAAS export", () => {
  it("is the machines followed by their power parameters", () => {
    const read = JSON.stringify(machines("ipmi", "redfish", "amt"));
    const parameters = JSON.stringify({
      id1: { ...ipmi, k_g: "kg1", cipher_suite_id: "17", privilege_level: "ADMIN", power_boot_type: "efi" },
      id2: { power_address: "https://bmc-2:8443/", power_user: "root", power_pass: "p2", node_id: "1" },
      id3: { power_address: "192.0.2.3", power_pass: "p3" },
    });

    const { machines: found, skipped, problems } = readMaas(`${read}\n${parameters}\n`, "maas.json");

    expect({ skipped, problems }).toEqual({ skipped: [], problems: [] });
    expect(found.map(({ password, kg }) => [password?.reveal(), kg?.reveal()])).toEqual([
      ["p1", "kg1"],
      ["p2", undefined],
      ["p3", undefined],
    ]);
    expect(found).toMatchObject([
      {
        source: "machine id1",
        name: "node-1",
        username: "maas",
        entry: {
          host: "192.0.2.1",
          providers: ["ipmi"],
          bootMode: "uefi",
          ipmi: { cipherSuite: 17, privilege: "administrator" },
        },
      },
      {
        username: "root",
        entry: { host: "bmc-2", providers: ["redfish"], redfish: { port: 8443, system: "1" } },
      },
      { username: "admin", entry: { host: "192.0.2.3", providers: ["amt"] } },
    ]);
  });

  it("may be one machine and its parameters, or machines that contain them", () => {
    const [machine] = machines("ipmi");
    const apart = `${JSON.stringify(machine)}${JSON.stringify(ipmi)}`;
    const inside = JSON.stringify([{ ...machine, power_parameters: ipmi }]);

    for (const text of [apart, inside]) {
      expect(readMaas(text, "m.json").machines).toMatchObject([{ name: "node-1", username: "maas" }]);
    }
  });

  it.each([
    ["virsh", {}, "power type virsh is not supported: only ipmi, redfish, amt"],
    ["ipmi", undefined, "has no power parameters: add the output of maas machines power-parameters"],
    ["ipmi", { ...ipmi, power_address: "" }, "has no power_address"],
    ["ipmi", { ...ipmi, power_driver: "LAN" }, "uses IPMI 1.5 (power_driver LAN), which is not supported"],
    ["ipmi", { ...ipmi, cipher_suite_id: "8" }, "uses cipher suite 8: only 3 and 17 are supported"],
    ["ipmi", { ...ipmi, power_user: "" }, "has a password but no power_user"],
    ["ipmi", { ...ipmi, power_address: 7 }, "has power parameters that are not text"],
    [
      "redfish",
      { ...ipmi, power_address: "https://u:p@bmc" },
      "has a power_address that is not an address or URL",
    ],
  ])("skips what an inventory cannot have: %s %j", (type, parameters, message) => {
    const text = `${JSON.stringify(machines(type))}${JSON.stringify({ id1: parameters })}`;

    expect(readMaas(text, "m.json")).toMatchObject({
      machines: [],
      skipped: [{ source: "Node-1", message }],
    });
  });

  it.each([
    ["{", "is not JSON"],
    ['[{"a": "hunter2}]', "is not JSON"],
    ['["hunter2"]', "is not a list of MAAS machines"],
    ["{}", "has no machines: add the output of maas machines read"],
    ["[".repeat(1e6) + "]".repeat(1e6), "is nested too deeply"],
  ])("is refused without quoting it: %.20s", (text, message) => {
    expect(readMaas(text, "m.json").problems).toEqual([{ source: "m.json", message }]);
  });
});
