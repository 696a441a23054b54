import { readFru } from "../fru.ts";
import { LEVELS } from "../users.ts";
import type { Commands } from "./handler.ts";

/** The FRU inventory and the event log (IPMI 2.0 sections 31 and 34). */
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
