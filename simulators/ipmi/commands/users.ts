import { LEVELS } from "../users.ts";
import type { Commands } from "./handler.ts";

/** Commands about the user table (IPMI 2.0 sections 22.26 to 22.30). */
export const USER_COMMANDS: Commands = {
  67: {
    name: "Set User Access",
    level: LEVELS.administrator,
    run: (data, { users }) => users.setAccess(data),
  },
  68: { name: "Get User Access", level: LEVELS.operator, run: (data, { users }) => users.getAccess(data) },
  69: { name: "Set User Name", level: LEVELS.administrator, run: (data, { users }) => users.setName(data) },
  70: { name: "Get User Name", level: LEVELS.operator, run: (data, { users }) => users.getName(data) },
  71: {
    name: "Set User Password",
    level: LEVELS.administrator,
    run: (data, { users }) => users.setPassword(data),
  },
};
