import type { Reply } from "../reply.ts";
import { LEVELS } from "../users.ts";
import { type Commands, WRONG_LENGTH } from "./handler.ts";

const DCMI = 0xdc;
const NO_LIMIT = 0x80;
const OUT_OF_RANGE = 0x84;
const MOST_WATTS = 1_000;

/** Answers as a group extension of DCMI (DCMI 1.5 section 6.6), with the group as the first byte. */
const answer = (data: Buffer, code?: number): Reply => ({
  ...(code !== undefined && { code }),
  data: Buffer.from([DCMI, ...data]),
});

export const DCMI_COMMANDS: Commands = {
  2: {
    name: "Get Power Reading",
    level: LEVELS.user,
    run: () => {
      const data = Buffer.alloc(17);
      data.writeUInt16LE(312, 0);
      return answer(data);
    },
  },
  3: {
    name: "Get Power Limit",
    level: LEVELS.user,
    run: (_, { machine }) => {
      const data = Buffer.alloc(13);
      data.writeUInt16LE(machine.powerLimitWatts ?? machine.storedLimitWatts, 3);
      data.writeUInt32LE(1_000, 5);
      data.writeUInt16LE(1, 11);
      return answer(data, machine.powerLimitWatts === undefined ? NO_LIMIT : undefined);
    },
  },
  4: {
    name: "Set Power Limit",
    level: LEVELS.operator,
    run: (data, { machine }) => {
      if (data.length !== 15) return { code: WRONG_LENGTH };
      const watts = data.readUInt16LE(5);
      if (watts > MOST_WATTS) return answer(Buffer.alloc(0), OUT_OF_RANGE);
      machine.storedLimitWatts = watts;
      if (machine.powerLimitWatts !== undefined) machine.powerLimitWatts = watts;
      return answer(Buffer.alloc(0));
    },
  },
  5: {
    name: "Activate Power Limit",
    level: LEVELS.operator,
    run: (data, { machine }) => {
      if (data.length !== 4) return { code: WRONG_LENGTH };
      machine.powerLimitWatts = data[1] === 1 ? machine.storedLimitWatts : undefined;
      return answer(Buffer.alloc(0));
    },
  },
};
