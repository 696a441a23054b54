import { LEVELS } from "../users.ts";
import { type Commands, WRONG_LENGTH } from "./handler.ts";

const EXCEEDS_LIMIT = 0x81;
const NO_SUCH_SESSION = 0x87;

/** Commands about the session in which they are sent (IPMI 2.0 sections 22.18 and 22.19). */
export const SESSION_COMMANDS: Commands = {
  59: {
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
  60: {
    name: "Close Session",
    level: LEVELS.user,
    run: (data, { console, sessions }) => {
      if (data.length < 4) return { code: WRONG_LENGTH };
      if (console.session?.id === data.readUInt32LE(0)) console.drop();
      return sessions.end(data.readUInt32LE(0)) ? {} : { code: NO_SUCH_SESSION };
    },
  },
};
