import { once } from "node:events";
import type { BmcClient } from "../../shared/bmc/client.ts";
import type { Session } from "../../shared/bmc/operations/provider.ts";
import type { SimulatedMachine } from "../../simulators/machine.ts";

/** The rows of the budget tables. */
export const OPERATIONS = [
  "power state",
  "power on from off, unverified",
  "off, verified at the first poll",
  "PXE once, UEFI, read back",
  "8 sensors",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** A machine's power before an operation. */
export const POWER_BEFORE: Readonly<Record<Operation, "on" | "off">> = {
  "power state": "on",
  "power on from off, unverified": "off",
  "off, verified at the first poll": "on",
  "PXE once, UEFI, read back": "on",
  "8 sensors": "on",
};

const LONGEST_MS = 30_000;
const PXE_ONCE = { device: "pxe", persistent: false, mode: "uefi" } as const;

/** The operation as the tables count it: calls of a session's drivers. Throws when it did not come true. */
export async function driveSession(
  operation: Operation,
  session: Session,
  machine: SimulatedMachine,
): Promise<void> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  switch (operation) {
    case "power state":
      same(await session.power.read(signal), "on");
      return;
    case "power on from off, unverified":
      await session.power.send("on", signal);
      return;
    case "off, verified at the first poll":
      await session.power.send("off", signal);
      while (machine.power !== "off") await once(machine, "power", { signal });
      same(await session.power.read(signal), "off");
      return;
    case "PXE once, UEFI, read back":
      await session.boot.write(PXE_ONCE, signal);
      same(await session.boot.read(signal), PXE_ONCE);
      return;
    case "8 sensors":
      same(namesOf(await session.sensors?.read(signal)), namesOf(machine.sensors));
      return;
    default:
      operation satisfies never;
  }
}

/** Runs a whole operation of the client, which also reads before it writes and verifies afterwards. */
export async function driveClient(operation: Operation, client: BmcClient): Promise<void> {
  const signal = AbortSignal.timeout(LONGEST_MS);
  const timeoutMs = LONGEST_MS;
  switch (operation) {
    case "power state":
      same(await client.getPower(signal), "on");
      return;
    case "power on from off, unverified":
      same((await client.setPower({ verb: "on", timeoutMs }, signal)).after, "on");
      return;
    case "off, verified at the first poll": {
      const request = { verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs } as const;
      same((await client.setPower(request, signal)).after, "off");
      return;
    }
    case "PXE once, UEFI, read back":
      same((await client.setBoot(PXE_ONCE, signal)).after, PXE_ONCE);
      return;
    case "8 sensors":
      same(namesOf(await client.getSensors(signal)).length, 8);
      return;
    default:
      operation satisfies never;
  }
}

/** Without what only one protocol shows. */
function namesOf(sensors: readonly { readonly name: string }[] = []): readonly string[] {
  return sensors.map(({ name }) => name).filter((name) => name !== "PS Redundancy");
}

function same(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) {
    throw new Error(`expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
  }
}
