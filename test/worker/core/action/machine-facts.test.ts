import { describe, expect, test } from "vitest";
import { factsSeen } from "../../../../worker/core/action/machine-facts.ts";

const same = (text: string) => text;

describe("what a result says of the machine", () => {
  test.each([
    [
      "bmc-info",
      { vendor: "Contoso", model: "BMC-2000", firmware: "1.45", uuid: "u" },
      { bmcVendor: "Contoso", bmcModel: "BMC-2000", bmcFirmware: "1.45" },
    ],
    ["inventory", { system: { model: "3500", serial: " S1 ", vendor: 7 } }, { model: "3500", serial: "S1" }],
    [
      "check",
      { checks: [{ check: "certificate", detail: "expires in 9 days" }] },
      { certificate: "expires in 9 days" },
    ],
    [
      "power-history",
      {
        lastReset: { time: "2026-01-15T18:59:02.000Z", cause: "watchdog expired", source: "SEL" },
        bootCount: 12,
        clock: { time: "2026-01-16T08:12:44.000Z", offsetSeconds: 0 },
      },
      {
        lastRestart: "2026-01-15T18:59:02.000Z: watchdog expired (read at 2026-01-16T08:12:44.000Z)",
        bootCount: "12",
      },
    ],
    [
      "power-history",
      { lastReset: { cause: "watchdog expired" }, bootCount: "x" },
      { lastRestart: "watchdog expired" },
    ],
    ["power-history", { total: 0, events: [], unread: [] }, undefined],
    ["power-status", { vendor: "no", system: { model: "no" } }, undefined],
    ["bmc-info", "garbage", undefined],
  ])("%s %j", (action, data, facts) => {
    expect(factsSeen({ action, data }, same)).toEqual(facts);
  });

  test("includes the make and model of a Redfish hint", () => {
    const hint = {
      provider: "redfish",
      providers: { redfish: { manufacturer: "Contoso", model: "3500", oem: [] } },
    };

    expect(factsSeen({ action: "power-on", hint }, same)).toEqual({ vendor: "Contoso", model: "3500" });
  });

  test("is redacted first and then shortened", () => {
    const data = { vendor: `${"x".repeat(190)}swordfish`, model: "swordfish" };

    const facts = factsSeen({ action: "bmc-info", data }, (text) => text.replace("swordfish", "[redacted]"));

    expect(facts?.bmcModel).toBe("[redacted]");
    expect(facts?.bmcVendor).toBe(`${"x".repeat(190)}[redacted]`);
    expect(
      JSON.stringify(factsSeen({ action: "bmc-info", data: { serial: "y".repeat(9_999) } }, same)),
    ).toHaveLength(216);
  });
});
