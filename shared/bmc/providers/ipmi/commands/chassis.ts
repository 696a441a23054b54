import { BmcError } from "../../../../contract/bmc-error.ts";
import type { PowerState } from "../../../../contract/vocabulary.ts";
import type { PowerCommand } from "../../../operations/power.ts";
import { effectOfPower } from "../../../operations/write-proof.ts";
import { type Command, ipmiCommand, NetFn, type Refusal } from "./command.ts";
import { INVALID_FIELD, NOT_IN_PRESENT_STATE, OUT_OF_RANGE } from "./completion-code.ts";

/** Get Chassis Status (IPMI 2.0 section 28.2). */
export const GET_CHASSIS_STATUS = ipmiCommand("Get Chassis Status", NetFn.chassis, 0x01);

/** Reads the power from an answer of Get Chassis Status: bit 0; the other bits are faults and policies. */
export function parseChassisStatus(data: Buffer): PowerState {
  if (data.length < 1) throw new BmcError("protocol", "Get Chassis Status: the answer is empty");
  return (data.readUInt8(0) & 0x01) === 0 ? "off" : "on";
}

/** The bits of the second byte in the specification's order. */
const POWER_EVENTS = [
  "AC failed",
  "power overload",
  "power interlock active",
  "power fault",
  "powered on by an IPMI command",
] as const;

/** Reads the last power events from an answer of Get Chassis Status; there may be several. */
export function parseLastPowerEvent(data: Buffer): readonly string[] {
  if (data.length < 2)
    throw new BmcError("protocol", "Get Chassis Status: the answer is shorter than 2 bytes");
  const bits = data.readUInt8(1);
  return POWER_EVENTS.filter((_, bit) => ((bits >> bit) & 1) === 1);
}

/** Get System Restart Cause (section 28.11), which is optional. */
export const GET_SYSTEM_RESTART_CAUSE = ipmiCommand("Get System Restart Cause", NetFn.chassis, 0x07);

/** Restart causes by code. */
const RESTART_CAUSES: readonly string[] = [
  "unknown cause",
  "chassis control command",
  "reset by the button",
  "power on by the button",
  "watchdog expired",
  "cause of the BMC's maker (OEM)",
  "power restored (policy always-on)",
  "power restored (policy last-state)",
  "reset by a platform event filter",
  "power cycle by a platform event filter",
  "soft reset, such as Ctrl-Alt-Del",
  "power on by the real-time clock",
];

/** Describes a restart cause. The event log uses the same codes (table 42-3, sensor type 0x1d). */
export function restartCause(code: number): string {
  const number = code & 0x0f;
  return RESTART_CAUSES[number] ?? `unknown cause (reserved code 0x${number.toString(16)})`;
}

export function parseRestartCause(data: Buffer): string {
  if (data.length < 1) throw new BmcError("protocol", "Get System Restart Cause: the answer is empty");
  return restartCause(data.readUInt8(0));
}

export type ChassisAction = PowerCommand | "nmi";

/** The actions (section 28.3) with their names in the specification. */
const ACTIONS: Readonly<Record<ChassisAction, { code: number; title: string }>> = {
  off: { code: 0x00, title: "power down" },
  on: { code: 0x01, title: "power up" },
  cycle: { code: 0x02, title: "power cycle" },
  reset: { code: 0x03, title: "hard reset" },
  nmi: { code: 0x04, title: "diagnostic interrupt" },
  "soft-off": { code: 0x05, title: "soft shutdown" },
};

const NO_CYCLE: Refusal = { class: "unsupported", reason: "the BMC does not offer it" };

/** How BMCs refuse an action that they do not have, on a machine that is on. An unspecified error does not prove this. */
const REFUSED_CYCLE: Readonly<Record<number, Refusal>> = {
  [INVALID_FIELD]: NO_CYCLE,
  [OUT_OF_RANGE]: NO_CYCLE,
  [NOT_IN_PRESENT_STATE]: NO_CYCLE,
};

/** Actions that have another effect when their packet arrives twice. */
const NOT_IDEMPOTENT: ReadonlySet<ChassisAction> = new Set(["cycle", "reset", "nmi"]);

export function chassisControl(action: ChassisAction): Command {
  return ipmiCommand(describeChassisControl(action), NetFn.chassis, 0x02, {
    data: Uint8Array.of(ACTIONS[action].code),
    needs: "operator",
    effect: NOT_IDEMPOTENT.has(action) ? "once" : "set",
    acts: effectOfPower(action) === "command",
    // The action is optional (section 28.3). The caller then uses power down and power up.
    ...(action === "cycle" && { refusals: REFUSED_CYCLE }),
  });
}

/** Describes the command, such as `Chassis Control: power down (0x00)`. */
export function describeChassisControl(action: ChassisAction): string {
  const { code, title } = ACTIONS[action];
  return `Chassis Control: ${title} (0x0${code})`;
}
