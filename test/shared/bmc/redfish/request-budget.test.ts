import { afterEach, describe, expect, test } from "vitest";
import type { Session } from "../../../../shared/bmc/provider.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { neverAborts, type OpenOptions, openSession, until } from "./open-session.ts";

const signal = neverAborts();
const pxeOnce = { device: "pxe", persistent: false, mode: "uefi" } as const;

/** What one action asks of a session, as the client asks it. */
const operations = {
  "power state": async ({ power }: Session) => {
    await power.read(signal);
  },
  "power on from off, unverified": async ({ power }: Session) => {
    await power.read(signal);
    await power.send("on", signal);
  },
  "off, verified at the first poll": async ({ power }: Session, bmc: RedfishBmc) => {
    await power.read(signal);
    await power.send("off", signal);
    await until(() => bmc.machine.power === "off", "power off");
    expect(await power.read(signal)).toBe("off");
  },
  "PXE once, read back": async ({ boot }: Session) => {
    await boot.write(pxeOnce, signal);
    expect(await boot.read(signal)).toEqual(pxeOnce);
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

// The floors of a known path in the budget are blind writes; reading the state first is one more.
describe.each<[Operation, number, number, number, "on" | "off"]>([
  ["power state", 1, 2, 3, "on"],
  ["power on from off, unverified", 2, 3, 4, "off"],
  ["off, verified at the first poll", 3, 4, 5, "on"],
  ["PXE once, read back", 3, 4, 5, "on"],
])("%s", (operation, known, unknown, session, power) => {
  const start = async () => {
    bmc = await startRedfishBmc({ machines: [new SimulatedMachine({ power, powerOffMs: 0 })] });
  };

  test(`takes ${known} requests with a known path and basic authentication`, async () => {
    await start();
    const opened = await openSession(bmc);
    const hint = opened.hint();
    await opened.close();

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
});
