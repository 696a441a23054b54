import { setTimeout as sleep } from "node:timers/promises";
import { startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import type { SimulatedMachine } from "../../simulators/machine.ts";
import type { FaultyBmc, SimpleFault } from "./bmc-host.ts";

/** No faults in logins and logouts: a lost one leaves a session open, and open sessions are leaks. */
const SESSION_MESSAGES = new Set(["Open Session", "RAKP1", "RAKP3", "Close Session"]);
const WRITES = new Set(["Chassis Control", "Set System Boot Options"]);
const NODE_BUSY = 0xc0;
const OUT_OF_SPACE = 0xc4;
/** Longer than any run: a BMC that ends idle sessions would hide that they were left open. */
const IDLE_MS = 24 * 60 * 60_000;
const SESSION_SLOTS = 1_000;

export async function startFaultyIpmi(machine: SimulatedMachine, password: string): Promise<FaultyBmc> {
  const bmc = await startIpmiBmc({
    machine,
    users: [{ name: "admin", password }],
    sessionIdleMs: IDLE_MS,
    sessionSlots: SESSION_SLOTS,
  });
  const left = { busy: 0, mute: 0, deaf: 0, garbled: 0, forgetful: 0 };
  let deafUntil = 0;
  let silentUntil = 0;
  const take = (kind: keyof typeof left, fits = true) => {
    if (!fits || left[kind] === 0) return false;
    left[kind] -= 1;
    return true;
  };
  bmc.faults.ignores = (name) => !SESSION_MESSAGES.has(name) && (Date.now() < deafUntil || take("deaf"));
  bmc.faults.losesAnswer = (name) => !SESSION_MESSAGES.has(name) && take("mute");
  bmc.faults.refuses = (name) => {
    if (take("busy", !SESSION_MESSAGES.has(name))) return NODE_BUSY;
    return take("forgetful", WRITES.has(name)) ? OUT_OF_SPACE : undefined;
  };
  bmc.faults.rewrites = (name, datagram) =>
    !SESSION_MESSAGES.has(name) && take("garbled") ? [datagram.subarray(0, datagram.length - 4)] : [datagram];
  return {
    port: bmc.port,
    sessions: () => bmc.activeSessions(),
    hurt(fault: SimpleFault) {
      switch (fault.kind) {
        case "slow":
          deafUntil = Date.now() + fault.forMs;
          return;
        case "restart":
          silentUntil = Date.now() + fault.downMs;
          bmc.restart(fault.downMs);
          return;
        case "busy":
        case "mute":
        case "deaf":
        case "garbled":
        case "forgetful":
          left[fault.kind] += fault.times;
          return;
        default:
          fault satisfies never;
      }
    },
    async heal() {
      for (const kind of ["busy", "mute", "deaf", "garbled", "forgetful"] as const) left[kind] = 0;
      deafUntil = 0;
      await sleep(Math.max(0, silentUntil - Date.now()));
    },
  };
}
