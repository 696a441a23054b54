import { describe, expect, it } from "vitest";
import type { DesiredState } from "../../../../shared/contract/desired-state.ts";
import { defined } from "../../../../shared/defined.ts";
import { compare, type Observed, withoutSecrets } from "../../../../worker/features/drift/compare.ts";
import { nextCorrection } from "../../../../worker/features/drift/next-correction.ts";

const states = (desired: DesiredState, observed: Observed) =>
  Object.fromEntries(compare(desired, observed, "keep").map(({ field, state }) => [field, state]));

describe("comparing a machine with its desired state", () => {
  it("does not power on a machine with a one-time boot override", () => {
    const desired: DesiredState = { power: "on" };
    const off = { power: { value: "off" as const } };
    const found = (bootDevice: Observed["bootDevice"]) =>
      compare(desired, { ...off, ...defined({ bootDevice }) }, "keep");
    const once = found({ value: { device: "pxe", persistent: false } });

    expect(once).toMatchObject([
      { field: "power", state: "different", reason: expect.stringContaining("pxe once") },
    ]);
    expect(nextCorrection(desired, once)).toBeUndefined();
    expect(nextCorrection(desired, found({ value: { device: "none" } }))).toMatchObject({
      action: "power-on",
    });
    expect(nextCorrection(desired, found({ unknown: "not shown" }))).toMatchObject({ action: "power-on" });
  });

  it("names what is wanted and what there is", () => {
    const observed: Observed = {
      power: { value: "off" },
      bootDevice: { value: { device: "pxe", persistent: true } },
      ntp: { value: { enabled: true, servers: ["b.example"] } },
    };

    expect(compare({ power: "on", bootDevice: "disk", ntp: ["a.example"] }, observed, "keep")).toEqual([
      { setting: "power", field: "power", wanted: "on", actual: "off", state: "different" },
      {
        setting: "bootDevice",
        field: "bootDevice",
        wanted: "disk",
        actual: "pxe persistent",
        state: "different",
      },
      { setting: "ntp", field: "ntp", wanted: ["a.example"], actual: ["b.example"], state: "different" },
    ]);
  });

  it("compares nothing that is not desired or was not read", () => {
    expect(compare({ power: "on" }, { ntp: { value: { enabled: false, servers: [] } } }, "keep")).toEqual([]);
  });

  it.each<[string, DesiredState, Observed]>([
    ["power", { power: "on" }, { power: { value: "unknown" } }],
    ["bootDevice", { bootDevice: "disk" }, { bootDevice: { value: { device: "unknown" } } }],
    ["ntp", { ntp: ["a"] }, { ntp: { unknown: "not offered" } }],
    ["bios.Missing", { bios: { Missing: 1 } }, { bios: { value: { attributes: { A: 1 }, pending: {} } } }],
    ["firmware.BIOS", { firmware: { BIOS: "1" } }, { firmware: { value: [] } }],
    [
      "firmware.NIC",
      { firmware: { NIC: "1" } },
      {
        firmware: {
          value: [
            { id: "a", name: "NIC", version: "1", related: [] },
            { id: "b", name: "NIC", version: "2", related: [] },
          ],
        },
      },
    ],
  ])("counts what a BMC cannot show as unknown: %s", (field, desired, observed) => {
    expect(states(desired, observed)).toEqual({ [field]: "unknown" });
  });

  it("takes only a lasting override for the desired boot device, in the boot mode that is set", () => {
    const observed = (persistent: boolean) => ({
      bootDevice: { value: { device: "disk", persistent, mode: "legacy" } as const },
    });

    expect(states({ bootDevice: "disk" }, observed(true))).toEqual({ bootDevice: "same" });
    // It ends with the next boot, and a workflow may need it until then.
    expect(states({ bootDevice: "disk" }, observed(false))).toEqual({ bootDevice: "pending" });
    expect(states({ bootDevice: "none" }, observed(false))).toEqual({ bootDevice: "pending" });
    expect(states({ bootDevice: "none" }, { bootDevice: { value: { device: "none" } } })).toEqual({
      bootDevice: "same",
    });
    const [uefi] = compare({ bootDevice: "disk" }, observed(true), "uefi");
    expect(uefi?.state).toBe("different");
  });

  it("compares time servers as they are set: in any case, in their order, and only if they are used", () => {
    const ntp = (enabled: boolean, ...servers: readonly string[]) => ({
      ntp: { value: { enabled, servers } },
    });

    expect(states({ ntp: ["A.example", "b"] }, ntp(true, "a.example", "b", ""))).toEqual({ ntp: "same" });
    expect(states({ ntp: ["a", "b"] }, ntp(true, "b", "a"))).toEqual({ ntp: "different" });
    expect(compare({ ntp: ["a"] }, ntp(false, "a"), "keep")).toMatchObject([
      { state: "different", actual: "off" },
    ]);
  });

  it("knows BIOS values that wait for the next boot, if something applies them", () => {
    const value = {
      attributes: { Cores: 16, Turbo: "Enabled", Serial: false, Mode: "Uefi" },
      pending: { Cores: 8, Turbo: "Disabled" },
    };
    const bios = { cores: "8", Turbo: "Enabled", Serial: "False", Mode: "uefi" };

    expect(states({ bios }, { bios: { value } })).toEqual({
      "bios.cores": "pending",
      // The next boot changes it.
      "bios.Turbo": "different",
      "bios.Serial": "same",
      "bios.Mode": "different",
    });
    const unscheduled = { bios: { value: { ...value, scheduled: false } as const } };
    expect(states({ bios: { Cores: 8, Turbo: "Enabled" } }, unscheduled)).toEqual({
      "bios.Cores": "different",
      "bios.Turbo": "same",
    });
  });

  it("compares firmware by ID or name, whatever the spelling of its version", () => {
    const item = (id: string, name: string, version: string) => ({ id, name, version, related: [] });
    const value = [item("BIOS", "Setup", "v2.10"), item("x", "BIOS", "9.9"), item("nic", "Slot 1", "1.0")];

    expect(states({ firmware: { BIOS: "2.10.0", "slot 1": "1.1" } }, { firmware: { value } })).toEqual({
      "firmware.BIOS": "same",
      "firmware.slot 1": "different",
    });
  });

  it("redacts the IDs of components, and takes no name that too many have", () => {
    const items = (length: number) =>
      Array.from({ length }, (_, index) => ({
        id: `hunter2-${index}`,
        name: "NIC",
        version: "1",
        related: [],
      }));
    const compared = (length: number) =>
      compare({ firmware: { NIC: "2" } }, { firmware: { value: items(length) } }, "keep").map((one) =>
        withoutSecrets(one, (text) => text.replaceAll("hunter2", "[redacted]")),
      );

    expect(compared(2)).toMatchObject([{ ids: ["[redacted]-0", "[redacted]-1"] }]);
    expect(compared(17)).toMatchObject([{ state: "unknown" }]);
  });

  it("says why firmware with an image is not updated", () => {
    const item = (id: string, version: string) => ({ id, name: id, version, related: [] });
    const value = [item("old", "1.0"), item("new", "v3.0"), item("other", "iLO 5 v2.72")];
    const wanted = { version: "2.0", image: "https://192.0.2.9/i" };

    const found = compare(
      { firmware: { old: wanted, new: wanted, other: wanted } },
      { firmware: { value } },
      "keep",
    );

    expect(found.map(({ reason }) => reason)).toEqual([
      undefined,
      "v3.0 is newer: only update-firmware with ALLOW_DOWNGRADE replaces it",
      "iLO 5 v2.72 cannot be compared with 2.0: only update-firmware with ALLOW_DOWNGRADE replaces it",
    ]);
  });
});
