import { describe, expect, test } from "vitest";
import { reference } from "../../../../actions/inventory/reference.ts";
import { hardwareSeen } from "../../../../worker/core/action/hardware-seen.ts";

const same = (text: string) => text;
const empty = { processors: [], memory: [], disks: [], nics: [], firmware: [] };

describe("the hardware in a result of inventory", () => {
  test("is what the action's own documentation shows", () => {
    const { data } = reference.result;

    expect(hardwareSeen({ action: "inventory", data }, same)).toEqual(data);
  });

  test.each([
    ["another action", "bmc-info", { system: {} }],
    ["no hardware", "inventory", "garbage"],
    ["no system", "inventory", { disks: [] }],
  ])("of %s is none", (_, action, data) => {
    expect(hardwareSeen({ action, data }, same)).toBeUndefined();
  });

  test("is redacted, printable and short, whatever the BMC writes", () => {
    const system = { vendor: "\u001b[31mEvil\u202e Corp\n", model: "swordfish", serial: "s".repeat(10_000) };
    const disks = [
      { name: "\u0007", bytes: -1, kind: {} },
      "garbage",
      { name: "Disk", serial: "swordfish!" },
    ];
    const data = { system, disks, chassis: 7, nics: Array(1_000).fill({ name: "NIC", mac: null }) };

    const seen = hardwareSeen({ action: "inventory", data }, (text) =>
      text.replace("swordfish", "[redacted]"),
    );

    expect(seen).toMatchObject({
      system: { vendor: "Evil\\u202e Corp", model: "[redacted]", serial: `${"s".repeat(127)}…` },
      disks: [{ name: "\\u0007" }, { name: "Disk", serial: "[redacted]!" }],
    });
    expect(seen?.nics).toHaveLength(128);
    expect(seen).not.toHaveProperty("chassis");
  });

  test("has fields only where the BMC reports something", () => {
    const data = { system: { vendor: "  ", memoryBytes: Number.NaN, uuid: undefined } };

    expect(hardwareSeen({ action: "inventory", data }, same)).toStrictEqual({ system: {}, ...empty });
  });
});
