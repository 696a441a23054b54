import type { PowerAction } from "../../machine.ts";
import { LEVELS } from "../users.ts";
import { type Commands, INVALID_FIELD, WRONG_LENGTH } from "./handler.ts";

const WRONG_STATE = 0xd5;

const CONTROLS: Readonly<Record<number, PowerAction>> = {
  0: "off",
  1: "on",
  2: "cycle",
  3: "reset",
  4: "nmi",
  5: "soft-off",
};

/** The indicator states in the order of Get Chassis Status (section 28.2). */
const INDICATORS = ["off", "timed", "on"];
const RESTORE_POLICIES = ["always-off", "last-state", "always-on"] as const;
/** The duration of an identify request without data. */
const DEFAULT_SECONDS = 15;

/** Chassis commands (IPMI 2.0 section 28). */
export const CHASSIS_COMMANDS: Commands = {
  0: {
    name: "Get Chassis Capabilities",
    level: LEVELS.user,
    run: () => ({ data: Buffer.from([0x00, 0x20, 0x20, 0x20, 0x20]) }),
  },
  1: {
    name: "Get Chassis Status",
    level: LEVELS.user,
    // Bit 0 follows the power supply: it is still set while the machine shuts down, and not yet set while it starts.
    run: (_, { machine }) => ({
      data: Buffer.from([
        (machine.power === "on" || machine.power === "powering-off" ? 0x01 : 0x00) |
          (RESTORE_POLICIES.indexOf(machine.restorePolicy) << 5),
        machine.lastPowerEvent,
        0x40 | (INDICATORS.indexOf(machine.indicator) << 4),
      ]),
    }),
  },
  4: {
    name: "Chassis Identify",
    level: LEVELS.operator,
    run: (data, { machine }) => {
      if (data.length > 2) return { code: WRONG_LENGTH };
      const isForced = ((data[1] ?? 0) & 0x01) !== 0;
      machine.indicator = isForced ? "on" : (data[0] ?? DEFAULT_SECONDS) > 0 ? "timed" : "off";
      return {};
    },
  },
  2: {
    name: "Chassis Control",
    level: LEVELS.operator,
    run: (data, { machine, boot }) => {
      if (data.length !== 1) return { code: WRONG_LENGTH };
      const action = CONTROLS[data.readUInt8(0) & 0x0f];
      if (!action) return { code: INVALID_FIELD };
      boot.keepFlags();
      return machine.do(action) ? {} : { code: WRONG_STATE };
    },
  },
  6: {
    name: "Set Power Restore Policy",
    level: LEVELS.operator,
    run: (data, { machine }) => {
      if (data.length !== 1) return { code: WRONG_LENGTH };
      const policy = RESTORE_POLICIES[data.readUInt8(0) & 0x07];
      if (!policy) return { code: INVALID_FIELD };
      machine.restorePolicy = policy;
      return { data: Buffer.from([0x07]) };
    },
  },
  7: {
    name: "Get System Restart Cause",
    level: LEVELS.user,
    // The channel of the LAN.
    run: (_, { machine }) => ({ data: Buffer.from([machine.restartCause, 1]) }),
  },
  8: {
    name: "Set System Boot Options",
    level: LEVELS.operator,
    run: (data, { boot }) => boot.set(data),
  },
  9: {
    name: "Get System Boot Options",
    level: LEVELS.operator,
    run: (data, { boot }) => boot.get(data),
  },
};
