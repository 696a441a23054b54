import { describe, expect, test } from "vitest";
import { compareFirmware } from "../../../../shared/bmc/operations/firmware-change.ts";
import type { FirmwareItem } from "../../../../shared/bmc/operations/firmware-driver.ts";

const item = (id: string, version: string, more: Partial<FirmwareItem> = {}): FirmwareItem => ({
  id,
  name: "Software Inventory",
  version,
  related: [],
  ...more,
});

const [bmc, bios] = [item("a1", "1.0", { related: ["/bmc"] }), item("b1", "5.0", { related: ["/bios"] })];

describe("an inventory after an update", () => {
  test("has another version of the same item", () => {
    const now = { ...bmc, version: "1.1" };

    expect(compareFirmware([bmc, bios], [now, bios]).changed).toEqual([{ from: bmc, to: now }]);
  });

  test("has the same items under each other's IDs, of which one has another version", () => {
    const [first, second] = [item("1", "1.0", { name: "BMC" }), item("2", "5.0", { name: "BIOS" })];
    const now = [item("1", "5.0", { name: "BIOS" }), item("2", "1.1", { name: "BMC" })];

    expect(compareFirmware([first, second], now).changed).toEqual([{ from: first, to: now[1] }]);
  });

  test("has an item with another name and version", () => {
    const [before, now] = [item("1", "1.0", { name: "BMC 1.0" }), item("1", "1.1", { name: "BMC 1.1" })];

    expect(compareFirmware([before, bios], [now, bios]).changed).toEqual([{ from: before, to: now }]);
  });

  test("shows no change where it cannot be told which item is which", () => {
    const before = [item("1", "1.0", { name: "BMC" }), item("2", "1.0", { name: "BMC" })];
    const now = [item("1", "5.0", { name: "BIOS" }), item("2", "1.0", { name: "BMC" })];

    expect(compareFirmware(before, now).changed).toEqual([]);
  });

  test("has another item in place of one of the same part", () => {
    const [newBmc, newBios] = [
      { ...bmc, id: "a2", version: "1.1" },
      { ...bios, id: "b2", version: "5.1" },
    ];

    const { changed, gone } = compareFirmware([bmc, bios], [newBios, newBmc]);

    expect(changed).toEqual([
      { from: bios, to: newBios },
      { from: bmc, to: newBmc },
    ]);
    expect([...gone]).toEqual(["a1", "b1"]);
  });

  test("shows no change by an item that is gone alone", () => {
    expect(compareFirmware([bmc, bios], [bios])).toMatchObject({ changed: [], waiting: [] });
  });

  test("shows no change by a new image that is not in use", () => {
    const spare = item("a2", "1.1", { state: "standby" });

    expect(compareFirmware([bmc], [bmc, spare])).toMatchObject({ changed: [], waiting: [spare] });
  });
});
