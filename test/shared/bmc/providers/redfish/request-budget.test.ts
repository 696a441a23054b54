import { afterEach, describe, expect, test } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../../simulators/redfish/bmc.ts";
import { neverAborts, type OpenOptions, openSession, until, withSession } from "./open-session.ts";

const signal = neverAborts();
const pxeOnce = { device: "pxe", persistent: false, mode: "uefi" } as const;

/** The operations of the budget table. */
const operations = {
  "power state": async ({ power }: Session) => {
    expect(await power.read(signal)).toBe("on");
  },
  "power on from off, unverified": async ({ power }: Session, bmc: RedfishBmc) => {
    await power.send("on", signal);
    expect(bmc.machine.count("on")).toBe(1);
  },
  "off, verified at the first poll": async ({ power }: Session, bmc: RedfishBmc) => {
    await power.send("off", signal);
    await until(() => bmc.machine.power === "off", "power off");
    expect(await power.read(signal)).toBe("off");
  },
  "PXE once, UEFI, read back": async ({ boot }: Session) => {
    await boot.write(pxeOnce, signal);
    expect(await boot.read(signal)).toEqual(pxeOnce);
  },
  "PXE once, mode kept, not read back": async ({ boot }: Session, bmc: RedfishBmc) => {
    await boot.write({ ...pxeOnce, mode: "keep" }, signal);
    expect(bmc.machine.override.device).toBe("pxe");
  },
};
type Operation = keyof typeof operations;

let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function requestsOf(operation: Operation, options: OpenOptions): Promise<number> {
  bmc.forget();
  const session = await openSession(bmc, options);
  await operations[operation](session, bmc);
  // The logout is not waited for by the operation; its own count is what the BMC saw.
  const counted = bmc.requests.length;
  expect(session.roundTrips()).toBe(counted);
  await session.close();
  expect(bmc.connections).toBe(1);
  return counted;
}

describe.each<[Operation, number, number, number, "on" | "off"]>([
  ["power state", 1, 2, 3, "on"],
  ["power on from off, unverified", 1, 3, 4, "off"],
  ["off, verified at the first poll", 2, 4, 5, "on"],
  ["PXE once, UEFI, read back", 2, 4, 5, "on"],
  ["PXE once, mode kept, not read back", 1, 3, 4, "on"],
])("%s", (operation, known, unknown, session, power) => {
  const start = async () => {
    bmc = await startRedfishBmc({ machines: [new SimulatedMachine({ power, powerOffMs: 0 })] });
  };

  test(`takes ${known} requests with a known path and basic authentication`, async () => {
    await start();
    const hint = await withSession(bmc, {}, async (opened) => opened.hint());

    expect(await requestsOf(operation, { hint })).toBe(known);
  });

  test(`takes ${unknown} requests with an unknown path and basic authentication`, async () => {
    await start();

    expect(await requestsOf(operation, {})).toBe(unknown);
  });

  test(`takes ${session} requests with an unknown path and a new session`, async () => {
    await start();

    expect(await requestsOf(operation, { redfish: { auth: "session" } })).toBe(session);
  });

  test(`takes ${known + 1} requests with a known path and a new session`, async () => {
    await start();
    const hint = await withSession(bmc, {}, async (opened) => opened.hint());

    expect(await requestsOf(operation, { hint, redfish: { auth: "session" } })).toBe(known + 1);
  });
});

test("opening with a hint and basic authentication sends nothing and connects to nothing", async () => {
  bmc = await startRedfishBmc();
  const hint = await withSession(bmc, {}, async (opened) => opened.hint());
  bmc.forget();

  const session = await openSession(bmc, { hint });
  await session.close();

  expect(bmc.log).toEqual([]);
  expect(bmc.connections).toBe(0);
});
