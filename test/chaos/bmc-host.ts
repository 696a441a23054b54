import { z } from "zod";
import { SimulatedMachine, type SimulatedOverride } from "../../simulators/machine.ts";
import { startFaultyIpmi } from "./faulty-ipmi.ts";
import { startFaultyRedfish } from "./faulty-redfish.ts";
import { serveOrders, setupOf } from "./host.ts";
import type { MachineRecord } from "./records.ts";

export const BmcSetup = z.object({
  protocol: z.enum(["redfish", "ipmi"]),
  machines: z.array(z.string()),
  password: z.string(),
  powerOnMs: z.number(),
  powerOffMs: z.number(),
});
export type BmcSetup = z.infer<typeof BmcSetup>;

/** In the order of the machines. */
export const BmcFacts = z.object({ ports: z.array(z.int()), fingerprints: z.array(z.string().nullable()) });

/** What goes wrong at one BMC. `times` counts requests, or messages where the protocol has no requests. */
export const BmcFault = z.discriminatedUnion("kind", [
  /** Not every BMC can be slow: one that cannot leaves requests unanswered for that time. */
  z.object({ kind: z.literal("slow"), latencyMs: z.number(), forMs: z.number() }),
  /** Says that it cannot now. */
  z.object({ kind: z.literal("busy"), times: z.int() }),
  /** Carries out and says nothing. */
  z.object({ kind: z.literal("mute"), times: z.int() }),
  /** Drops connections or messages before anything is carried out. */
  z.object({ kind: z.literal("deaf"), times: z.int() }),
  /** Answers with what no client can read, or not whole. */
  z.object({ kind: z.literal("garbled"), times: z.int() }),
  /** Takes a write, says so, and does nothing. */
  z.object({ kind: z.literal("forgetful"), times: z.int() }),
  z.object({ kind: z.literal("restart"), downMs: z.number() }),
  /** Restarts once the machine's power begins to change. */
  z.object({ kind: z.literal("restart-on-command"), downMs: z.number() }),
]);
export type BmcFault = z.infer<typeof BmcFault>;
export type SimpleFault = Exclude<BmcFault, { kind: "restart-on-command" }>;

export const BmcOrder = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("hurt"), machine: z.string(), fault: BmcFault }),
  /** Shows another certificate; the answer is its fingerprint. */
  z.object({ kind: z.literal("certificate"), machine: z.string() }),
  z.object({ kind: z.literal("heal") }),
  z.object({ kind: z.literal("records") }),
]);
export type BmcOrder = z.infer<typeof BmcOrder>;

/** A BMC on a socket, whose faults come and go. */
export interface FaultyBmc {
  readonly port: number;
  /** Absent without TLS. */
  readonly fingerprint?: string;
  /** Restarts with a new certificate; returns its fingerprint. */
  changeCertificate?(): string;
  hurt(fault: SimpleFault): void;
  /** Resolves when it answers again and nothing goes wrong any more. */
  heal(): Promise<void>;
  sessions(): number;
}

/** Writes down what happens to a machine. */
function recordOf(machine: SimulatedMachine): Omit<MachineRecord, "sessions"> {
  const at = Date.now();
  const { device, enabled } = machine.override;
  const record: Omit<MachineRecord, "sessions"> = {
    name: machine.name,
    commands: machine.commands,
    power: [{ at, state: machine.power }],
    overrides: [{ at, device, enabled }],
    boots: [],
  };
  machine.on("power", (state) => record.power.push({ at: Date.now(), state }));
  machine.on("boot", (boot) =>
    record.boots.push({ at: boot.at, device: boot.device, overridden: boot.overridden }),
  );
  let override: SimulatedOverride = machine.override;
  // The simulators assign it without an event.
  Object.defineProperty(machine, "override", {
    get: () => override,
    set: (given: SimulatedOverride) => {
      override = given;
      record.overrides.push({ at: Date.now(), device: given.device, enabled: given.enabled });
    },
  });
  return record;
}

/** The program: so many BMCs of one protocol, and a record of what was done to their machines. */
if (import.meta.main) {
  const { protocol, machines: names, password, powerOnMs, powerOffMs } = setupOf(BmcSetup);
  const all = await Promise.all(
    names.map(async (name, index) => {
      const machine = new SimulatedMachine({
        name,
        powerOnMs,
        powerOffMs,
        softOffMs: powerOffMs,
        cycleOffMs: powerOffMs,
      });
      const record = recordOf(machine);
      const bmc = await (protocol === "ipmi"
        ? startFaultyIpmi(machine, password)
        : startFaultyRedfish(machine, password, index % 2 === 0 ? "https" : "http"));
      return { name, machine, record, bmc };
    }),
  );
  const find = (machine: string) => {
    const found = all.find(({ name }) => name === machine);
    if (!found) throw new Error(`no machine ${machine} here`);
    return found;
  };
  const planned: (() => void)[] = [];
  const carryOut = async (order: BmcOrder): Promise<unknown> => {
    switch (order.kind) {
      case "hurt": {
        const { bmc, machine } = find(order.machine);
        const { fault } = order;
        if (fault.kind !== "restart-on-command") return bmc.hurt(fault);
        const restart = () => bmc.hurt({ kind: "restart", downMs: fault.downMs });
        machine.once("power", restart);
        planned.push(() => machine.off("power", restart));
        return;
      }
      case "certificate":
        return find(order.machine).bmc.changeCertificate?.();
      case "heal":
        for (const cancel of planned.splice(0)) cancel();
        return Promise.all(all.map(({ bmc }) => bmc.heal()));
      case "records":
        return all.map(({ record, bmc }) => ({ ...record, sessions: bmc.sessions() }));
      default:
        return order satisfies never;
    }
  };
  const facts = {
    ports: all.map(({ bmc }) => bmc.port),
    fingerprints: all.map(({ bmc }) => bmc.fingerprint ?? null),
  };
  serveOrders(facts, BmcOrder, carryOut);
}
