import { afterEach, expect, test } from "vitest";
import { BmcClient } from "../../../../../shared/bmc/client.ts";
import { quirkNotes } from "../../../../../shared/bmc/providers/redfish/quirks.ts";
import {
  activeQuirks,
  quirks,
} from "../../../../../shared/bmc/providers/redfish/service/behaviour-quirks.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { redfishProfiles } from "../../../../../simulators/redfish/profiles.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { connectionTo, errorOf, neverAborts } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc | undefined;
afterEach(() => bmc?.close());

/** A client whose waits pass faster than the clock on the wall. */
async function clientOf(profile: string, machine: SimulatedMachineOptions = {}) {
  const started = await startRedfishBmc({ tls: "http", profile, machines: [new SimulatedMachine(machine)] });
  bmc = started;
  const client = new BmcClient(connectionTo(started, { connection: { providers: ["redfish"] } }), {
    clock: scaledClock(50),
  });
  return { bmc: started, client };
}

test("every quirk is listed once, with its vendors, reason and source", () => {
  expect(new Set(quirkNotes.map(({ name }) => name)).size).toBe(quirkNotes.length);
  for (const note of quirkNotes) {
    expect(note.name).toMatch(/^[a-z0-9-]+$/);
    expect([note.vendors, note.reason, note.source].every((text) => text.length > 2)).toBe(true);
  }
});

test("a quirk that goes by the make shows on a simulated make, so that a test can need it", () => {
  const shown = new Set(
    Object.values(redfishProfiles).flatMap(({ manufacturer, model, oem }) =>
      activeQuirks({ manufacturer, model, oem: [oem] }, new Set()).map(({ name }) => name),
    ),
  );

  const unseen = quirks.filter(({ match, name }) => match && !shown.has(name)).map(({ name }) => name);

  expect(unseen).toEqual([]);
});

test("sushy-tools: a one-time boot override that stays is a success that says so", async () => {
  const { client } = await clientOf("sushy");

  const report = await client.setBoot({ device: "pxe", persistent: false, mode: "uefi" }, signal);
  await client.close();

  expect(report).toEqual({
    after: { device: "pxe", persistent: true, mode: "uefi" },
    changed: true,
    summary: "boot pxe persistent (uefi): the BMC keeps one-time overrides",
  });
});

test("Supermicro AS-1015CS: a boot override that is quietly dropped after 200 is class verify", async () => {
  const { client } = await clientOf("supermicro-reverting");

  const error = await errorOf(client.setBoot({ device: "pxe", persistent: false, mode: "uefi" }, signal));
  await client.close();

  expect(error.class).toBe("verify");
  expect(error.message).toContain("pxe once (uefi)");
});

test("Fujitsu iRMC: a graceful shutdown that no agent in the system handles is followed by a forced one", async () => {
  const { bmc: fujitsu, client } = await clientOf("fujitsu", { softOffMs: "never", powerOffMs: 0 });

  const report = await client.setPower(
    { verb: "off", mode: "soft-then-hard", softTimeoutMs: 2_000, timeoutMs: 60_000 },
    signal,
  );
  await client.close();

  expect(report.summary).toContain("forced, still on");
  expect(fujitsu.machine.commands.map(({ action }) => action)).toEqual(["soft-off", "off"]);
});

test("OpenBMC: a reset that is answered at once is polled to the state, which lingers", async () => {
  const { bmc: openbmc, client } = await clientOf("openbmc", { powerOffMs: 200 });

  const report = await client.setPower(
    { verb: "off", mode: "hard", softTimeoutMs: 1_000, timeoutMs: 60_000 },
    signal,
  );
  await client.close();

  expect(report.after).toBe("off");
  expect(openbmc.machine.power).toBe("off");
  expect(openbmc.machine.count("off")).toBe(1);
});
