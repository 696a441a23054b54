import { type CommandChannel, dataOf } from "./channel.ts";
import { COMPLETED, INVALID_FIELD, NOT_PRESENT } from "./completion-code.ts";
import { getUserAccess, getUserName, parseUserAccess, parseUserName, type UserAccess } from "./users.ts";

/** One row of the BMC's user table. */
export interface UserSlot {
  readonly id: number;
  /** Empty when the slot is free, or its user has no name. */
  readonly name: string;
  readonly access: UserAccess;
}

/** IPMI 2.0 section 22.26: user IDs have six bits, and begin with 1. */
const FIRST_ID = 1;
/** What BMCs answer to the name of a slot that has none. */
const NO_NAME = new Set([INVALID_FIELD, NOT_PRESENT]);

/** Every slot, in order. One round trip each: rights and name travel together. */
export async function readUserTable(channel: CommandChannel, signal: AbortSignal): Promise<UserSlot[]> {
  const table: UserSlot[] = [];
  for (let id = FIRST_ID, slots = FIRST_ID; id <= slots; id += 1) {
    const [access, name] = await channel.run([getUserAccess(id), getUserName(id)], signal);
    if (!access || !name) continue;
    // BMCs announce more slots than their channel has users.
    if (id > FIRST_ID && access.completionCode !== COMPLETED && NO_NAME.has(access.completionCode)) continue;
    const rights = parseUserAccess(dataOf(access));
    if (id === FIRST_ID) slots = rights.slots;
    const text = NO_NAME.has(name.completionCode) ? "" : parseUserName(dataOf(name));
    table.push({ id, name: text, access: rights });
  }
  return table;
}
