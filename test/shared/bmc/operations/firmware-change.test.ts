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
