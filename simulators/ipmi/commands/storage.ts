import { readFru } from "../fru.ts";
import { LEVELS } from "../users.ts";
import type { Commands } from "./handler.ts";

/** Commands about FRU inventory, sensor data records and event log (IPMI 2.0 sections 31, 33 and 34). */
export const STORAGE_COMMANDS: Commands = {
  16: {
    name: "Get FRU Inventory Area Info",
    level: LEVELS.user,
    run: (data, { fru }) => {
      if (data[0] !== 0) return { code: 0xcb };
      return { data: Buffer.from([fru.length & 0xff, fru.length >> 8, 0]) };
    },
  },
  17: {
    name: "Read FRU Data",
    level: LEVELS.user,
    run: (data, { fru, fruPartBytes }) => readFru(fru, data, fruPartBytes),
  },
  32: { name: "Get SDR Repository Info", level: LEVELS.user, run: (_, { sdr }) => sdr.info() },
  34: { name: "Reserve SDR Repository", level: LEVELS.user, run: (_, { sdr }) => sdr.reserve() },
  35: { name: "Get SDR", level: LEVELS.user, run: (data, { sdr }) => sdr.get(data) },
  64: { name: "Get SEL Info", level: LEVELS.user, run: (_, { log }) => log.info() },
  66: { name: "Reserve SEL", level: LEVELS.user, run: (_, { log }) => log.reserve() },
  67: { name: "Get SEL Entry", level: LEVELS.user, run: (data, { log }) => log.get(data) },
  71: { name: "Clear SEL", level: LEVELS.operator, run: (data, { log }) => log.clear(data) },
  72: {
    name: "Get SEL Time",
    level: LEVELS.user,
    run: (_, { clock }) => {
      const data = Buffer.alloc(4);
      data.writeUInt32LE(clock());
      return { data };
    },
  },
};
