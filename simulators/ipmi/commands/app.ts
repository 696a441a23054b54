import { LEVELS } from "../users.ts";
import { AES_CBC_128, SUITES } from "../wire.ts";
import { type Commands, INVALID_FIELD, WRONG_LENGTH } from "./handler.ts";

const SOL_PAYLOAD = 1;
const ONLY_INSTANCE = 1;
const LAN_CHANNEL = 1;
const NOT_PRESENT = 0xcb;
/** The session that left an instance open. */
const OTHER_SESSION = 0x0a0b0c0d;

/** Commands about the BMC, its channels and payloads (IPMI 2.0 sections 20, 22 and 24). */
export const APP_COMMANDS: Commands = {
  1: {
    name: "Get Device ID",
    level: LEVELS.user,
    run: (_, { manufacturer, deviceId }) => {
      if (deviceId) return { data: deviceId };
      const data = Buffer.from("200103450200000000000000000000", "hex");
      // Chassis device, FRU inventory and event log.
      data[5] = 0x8c;
      data.writeUIntLE(manufacturer, 6, 3);
      data.writeUInt16LE(0x0f02, 9);
      return { data };
    },
  },
  2: {
    name: "Cold Reset",
    level: LEVELS.administrator,
    run: (_, { restart }) => {
      restart("cold");
      return {};
    },
  },
  3: {
    name: "Warm Reset",
    level: LEVELS.administrator,
    run: (_, { restart }) => {
      restart("warm");
      return {};
    },
  },
  4: { name: "Get Self Test Results", level: LEVELS.user, run: () => ({ data: Buffer.from([0x55, 0x00]) }) },
  55: { name: "Get System GUID", level: 0, run: (_, { guid }) => ({ data: guid }) },
  56: {
    name: "Get Channel Authentication Capabilities",
    level: 0,
    run: (data, { hasKg }) => {
      if (data.length !== 2) return { code: WRONG_LENGTH };
      const asksForVersion2 = (data.readUInt8(0) & 0x80) !== 0;
      const status = 0x04 | (hasKg ? 0x20 : 0);
      return { data: Buffer.from([LAN_CHANNEL, asksForVersion2 ? 0x80 : 0, status, 0x02, 0, 0, 0, 0]) };
    },
  },
  65: {
    name: "Get Channel Access",
    level: LEVELS.user,
    run: (data) =>
      data.length === 2 ? { data: Buffer.from([0x02, LEVELS.administrator]) } : { code: WRONG_LENGTH },
  },
  66: {
    name: "Get Channel Info",
    level: LEVELS.user,
    run: (data) => {
      if (data.length !== 1) return { code: WRONG_LENGTH };
      const channel = data.readUInt8(0) & 0x0f;
      if (channel !== 0x0e && channel !== LAN_CHANNEL) return { code: INVALID_FIELD };
      // 802.3 LAN, IPMB-1.0, multi-session, IPMI's own enterprise number.
      return { data: Buffer.from([LAN_CHANNEL, 0x04, 0x01, 0x80, 0xf2, 0x1b, 0x00, 0, 0]) };
    },
  },
  61: {
    name: "Get Session Info",
    level: LEVELS.user,
    run: (data, { sol }) => {
      if (data.length !== 5 || data[0] !== 0xff) return { code: WRONG_LENGTH };
      if (data.readUInt32LE(1) !== OTHER_SESSION || sol.size === 0) return { code: NOT_PRESENT };
      // Handle, slots, active sessions, user 3, operator on channel 1, 192.0.2.77 port 40000.
      return { data: Buffer.from("070802030311c000024d020000000077409c", "hex") };
    },
  },
  72: {
    name: "Activate Payload",
    level: LEVELS.user,
    run: (data, { sol, console, hasConsole }, session) => {
      if (data.length !== 6) return { code: WRONG_LENGTH };
      if ((data.readUInt8(0) & 0x3f) !== SOL_PAYLOAD || data[1] !== ONLY_INSTANCE)
        return { code: INVALID_FIELD };
      if (!hasConsole) return { code: 0x81 };
      if (sol.has(ONLY_INSTANCE) || console.session) return { code: 0x80 };
      if ((data.readUInt8(2) & 0xc0) !== 0xc0) return { code: 0x84 };
      if (session) console.activate(session);
      return { data: Buffer.from("00000000e000e0006f02ffff", "hex") };
    },
  },
  73: {
    name: "Deactivate Payload",
    level: LEVELS.user,
    run: (data, { sol, console }, session) => {
      if (data.length !== 6) return { code: WRONG_LENGTH };
      if ((data.readUInt8(0) & 0x3f) !== SOL_PAYLOAD) return { code: INVALID_FIELD };
      const instance = data.readUInt8(1) & 0x0f;
      if (instance === ONLY_INSTANCE && console.session) {
        console.deactivate(session);
        return {};
      }
      return sol.delete(instance) ? {} : { code: 0x80 };
    },
  },
  74: {
    name: "Get Payload Activation Status",
    level: LEVELS.user,
    run: (data, { sol, console }) => {
      if (data.length !== 1) return { code: WRONG_LENGTH };
      const active = Buffer.alloc(3);
      active[0] = 0x01;
      const instances = new Set([...sol, ...(console.session ? [ONLY_INSTANCE] : [])]);
      for (const instance of instances)
        active.writeUInt16LE(active.readUInt16LE(1) | (1 << (instance - 1)), 1);
      return { data: active };
    },
  },
  75: {
    name: "Get Payload Instance Info",
    level: LEVELS.user,
    run: (data, { sol, console }) => {
      if (data.length !== 2) return { code: WRONG_LENGTH };
      const instance = data.readUInt8(1);
      const info = Buffer.alloc(12);
      const own = instance === ONLY_INSTANCE ? console.session?.id : undefined;
      info.writeUInt32LE(own ?? (sol.has(instance) ? OTHER_SESSION : 0));
      return { data: info };
    },
  },
  84: {
    name: "Get Channel Cipher Suites",
    level: 0,
    run: (data, { suites, suiteRecords }) => {
      if (data.length !== 3) return { code: WRONG_LENGTH };
      const own = suites.flatMap((id) => {
        const { authentication, integrity } = SUITES[id];
        return [0xc0, id, authentication, 0x40 | integrity, 0x80 | AES_CBC_128];
      });
      const records = [...(suiteRecords ?? own)];
      const from = (data.readUInt8(2) & 0x3f) * 16;
      return { data: Buffer.from([LAN_CHANNEL, ...records.slice(from, from + 16)]) };
    },
  },
};
