import { describe, expect, test } from "vitest";
import type { BmcClient } from "../../../../shared/bmc/client.ts";
import { fail, succeed } from "./attempt.ts";
import { redfishFaultLab } from "./redfish-lab.ts";

/** Every operation that writes a setting and reads it back. */
const SETTINGS: readonly [string, (client: BmcClient, signal: AbortSignal) => Promise<unknown>][] = [
  ["NTP", (client, signal) => client.setNtp({ enabled: true, servers: ["ntp1.example.org"] }, signal)],
  ["power limit", (client, signal) => client.setPowerLimit(400, signal)],
  ["boot order", (client, signal) => client.setBootOrder(["UEFI Shell"], signal)],
  [
    "URI of HTTP boot",
    (client, signal) => client.setHttpBootUri({ uri: "http://192.0.2.9/boot.efi" }, signal),
  ],
  ["identify LED", (client, signal) => client.setIndicator(true, signal)],
  ["restore policy", (client, signal) => client.setRestorePolicy("always-on", signal)],
  ["Secure Boot", (client, signal) => client.setSecureBoot(true, signal)],
  [
    "BIOS attributes",
    (client, signal) => client.setBios({ values: { NumCores: 8 }, applyTime: "on-reset" }, signal),
  ],
];

describe.concurrent("a setting", () => {
  test.each(SETTINGS)("is written once, and counts although its answer is lost: %s", async (_, set) => {
    await using lab = await redfishFaultLab();
    lab.proxy.fail({ kind: "reset-after", method: "PATCH" });

    expect(await succeed((signal) => set(lab.client, signal))).toMatchObject({ changed: true });
    expect(lab.sent("PATCH")).toBe(1);
  });

  test.each(SETTINGS)("fails if the BMC accepts it and keeps what it has: %s", async (_, set) => {
    await using lab = await redfishFaultLab();
    lab.bmc.fail({ kind: "forget", method: "PATCH", times: 10 });

    const error = await fail((signal) => set(lab.client, signal));

    expect(error).toMatchObject({ class: "verify", message: expect.stringMatching(/asked for .+ keeps? /) });
  });

  test.each(SETTINGS)("fails with the BMC's words if a 200 denies it: %s", async (_, set) => {
    await using lab = await redfishFaultLab();
    const message = "The property is read only.";
    const denial = { status: 200, messageId: "Base.1.8.PropertyNotWritable", message };
    lab.bmc.fail({ kind: "refuse", method: "PATCH", ...denial });

    const error = await fail((signal) => set(lab.client, signal));

    expect(error).toMatchObject({ class: "verify", message: expect.stringContaining(message) });
    expect(lab.sent("PATCH")).toBe(1);
  });

  test.each(SETTINGS)("fails with the BMC's words if it is refused: %s", async (_, set) => {
    await using lab = await redfishFaultLab();
    lab.bmc.fail({
      kind: "refuse",
      method: "PATCH",
      status: 400,
      messageId: "X.1.0.No",
      message: "Not today.",
    });

    const error = await fail((signal) => set(lab.client, signal));

    expect(error).toMatchObject({ class: "bmc", message: expect.stringContaining("Not today.") });
    expect(lab.sent("PATCH")).toBe(1);
  });
});
