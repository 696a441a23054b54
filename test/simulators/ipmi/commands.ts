import type { PowerAction, SimulatedMachine } from "../machine.ts";
import type { BootOptions } from "./boot-options.ts";
import type { Reply } from "./reply.ts";
import type { Sessions, SimulatedSession } from "./sessions.ts";
import { LEVELS } from "./users.ts";
import { AES_CBC_128, SUITES } from "./wire.ts";

/** What the commands work on. */
export interface Devices {
  readonly machine: SimulatedMachine;
  readonly boot: BootOptions;
  readonly sessions: Sessions;
  readonly guid: Buffer;
  readonly suites: readonly (3 | 17)[];
  readonly hasKg: boolean;
  /** IANA enterprise number. */
  readonly manufacturer: number;
}

export interface CommandHandler {
  readonly name: string;
  /** The level it needs; 0 is also answered outside sessions. */
  readonly level: number;
  run(data: Buffer, devices: Devices, session: SimulatedSession | undefined): Reply;
}

const INVALID_FIELD = 0xcc;
const WRONG_LENGTH = 0xc7;
const WRONG_STATE = 0xd5;
const EXCEEDS_LIMIT = 0x81;
const NO_SUCH_SESSION = 0x87;

const CONTROLS: Readonly<Record<number, PowerAction>> = {
  0: "off",
  1: "on",
  2: "cycle",
  3: "reset",
  4: "nmi",
  5: "soft-off",
};

const CHASSIS = 0x00;
const APP = 0x06;

const HANDLERS: Readonly<Record<string, CommandHandler>> = {
  [key(CHASSIS, 0x00)]: {
    name: "Get Chassis Capabilities",
    level: LEVELS.user,
    run: () => ({ data: Buffer.from([0x00, 0x20, 0x20, 0x20, 0x20]) }),
  },
  [key(CHASSIS, 0x01)]: {
    name: "Get Chassis Status",
    level: LEVELS.user,
    // Bit 0 follows the supply: it is still there while the machine runs down, not yet while it comes up.
    run: (_, { machine }) => ({
      data: Buffer.from([machine.power === "on" || machine.power === "powering-off" ? 0x61 : 0x60, 0, 0]),
    }),
  },
  [key(CHASSIS, 0x02)]: {
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
  [key(CHASSIS, 0x08)]: {
    name: "Set System Boot Options",
    level: LEVELS.operator,
    run: (data, { boot }) => boot.set(data),
  },
  [key(CHASSIS, 0x09)]: {
    name: "Get System Boot Options",
    level: LEVELS.operator,
    run: (data, { boot }) => boot.get(data),
  },
  [key(APP, 0x01)]: {
    name: "Get Device ID",
    level: LEVELS.user,
    run: (_, { manufacturer }) => {
      const data = Buffer.from("200103450200000000000000000000", "hex");
      data[5] = 0x80;
      data.writeUIntLE(manufacturer, 6, 3);
      data.writeUInt16LE(0x0f02, 9);
      return { data };
    },
  },
  [key(APP, 0x37)]: { name: "Get System GUID", level: 0, run: (_, { guid }) => ({ data: guid }) },
  [key(APP, 0x38)]: {
    name: "Get Channel Authentication Capabilities",
    level: 0,
    run: (data, { hasKg }) => {
      if (data.length !== 2) return { code: WRONG_LENGTH };
      const asksForVersion2 = (data.readUInt8(0) & 0x80) !== 0;
      const status = 0x04 | (hasKg ? 0x20 : 0);
      return { data: Buffer.from([0x01, asksForVersion2 ? 0x80 : 0, status, 0x02, 0, 0, 0, 0]) };
    },
  },
  [key(APP, 0x3b)]: {
    name: "Set Session Privilege Level",
    level: LEVELS.user,
    run: (data, _, session) => {
      if (data.length !== 1 || !session) return { code: WRONG_LENGTH };
      const level = data.readUInt8(0) & 0x0f;
      if (level > session.limit) return { code: EXCEEDS_LIMIT };
      if (level !== 0) session.level = level;
      return { data: Buffer.from([session.level]) };
    },
  },
  [key(APP, 0x3c)]: {
    name: "Close Session",
    level: LEVELS.user,
    run: (data, { sessions }) => {
      if (data.length < 4) return { code: WRONG_LENGTH };
      return sessions.end(data.readUInt32LE(0)) ? {} : { code: NO_SUCH_SESSION };
    },
  },
  [key(APP, 0x54)]: {
    name: "Get Channel Cipher Suites",
    level: 0,
    run: (data, { suites }) => {
      if (data.length !== 3) return { code: WRONG_LENGTH };
      const records = suites.flatMap((id) => {
        const { authentication, integrity } = SUITES[id];
        return [0xc0, id, authentication, 0x40 | integrity, 0x80 | AES_CBC_128];
      });
      const from = (data.readUInt8(2) & 0x3f) * 16;
      return { data: Buffer.from([0x01, ...records.slice(from, from + 16)]) };
    },
  },
};

export function findHandler(netFn: number, command: number): CommandHandler | undefined {
  return HANDLERS[key(netFn, command)];
}

function key(netFn: number, command: number): string {
  return `${netFn}/${command}`;
}
