import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Secret } from "../../../../secret.ts";
import type { BmcUser, UserRole } from "../../../operations/user-port.ts";
import { type CommandChannel, dataOf, exchange, PartRefusals } from "./channel.ts";
import { type Command, ipmiCommand, NetFn, PRIVILEGE_LEVELS, type Refusal } from "./command.ts";
import { COMPLETED, INVALID_FIELD, NOT_PRESENT, REQUEST_TOO_LONG, WRONG_LENGTH } from "./completion-code.ts";
import { passwordBytes, USERNAME_BYTES, usernameBytes } from "./credentials.ts";
import type { LanChannel } from "./lan-channel.ts";

const NO_ACCESS = 0x0f;
const LINK_AUTHENTICATION = 0x20;
const MESSAGING = 0x10;
const ID_MASK = 0x3f;

/** The privilege levels of roles. A user who may not change anything has level USER. */
const ROLE_LEVELS: Readonly<Record<UserRole, number>> = {
  administrator: PRIVILEGE_LEVELS.administrator,
  operator: PRIVILEGE_LEVELS.operator,
  readonly: PRIVILEGE_LEVELS.user,
};

/** A user's permissions on a channel, and the size of the user table. */
export interface UserAccess {
  /** The number of user IDs, which begin with 1. */
  readonly slots: number;
  /** The number of first user IDs whose names cannot be changed. */
  readonly fixedNames: number;
  readonly enabled: boolean;
  readonly role: BmcUser["role"];
  /** Whether the user may log in to services other than IPMI over the channel's link, such as PPP. */
  readonly linkAuthentication: boolean;
}

/** Get User Access (section 22.27). */
function getUserAccess(channel: number, id: number): Command {
  return ipmiCommand("Get User Access", NetFn.app, 0x44, {
    data: Uint8Array.of(channel, id & ID_MASK),
    needs: "operator",
  });
}

export function parseUserAccess(data: Buffer): UserAccess {
  if (data.length < 4) throw new BmcError("protocol", "Get User Access: the answer is shorter than 4 bytes");
  const access = data.readUInt8(3);
  const level = access & 0x0f;
  const role = roleOf(level);
  const status = data.readUInt8(1) >> 6;
  // There was no status before errata 3 (2009); IPMI messaging alone enabled a user.
  const enabled = status === 0 ? (access & MESSAGING) !== 0 && role !== "none" : status === 1;
  return {
    slots: data.readUInt8(0) & ID_MASK,
    fixedNames: data.readUInt8(2) & ID_MASK,
    enabled,
    role,
    linkAuthentication: (access & LINK_AUTHENTICATION) !== 0,
  };
}

function roleOf(level: number): BmcUser["role"] {
  if (level === NO_ACCESS || level === 0) return "none";
  if (level === ROLE_LEVELS.administrator) return "administrator";
  if (level === ROLE_LEVELS.operator) return "operator";
  return level === ROLE_LEVELS.readonly ? "readonly" : "unknown";
}

/** Set User Access (section 22.26). Without a role there is no access. Link authentication is kept. */
export function setUserAccess(
  channel: number,
  id: number,
  role: UserRole | "none",
  before?: Pick<UserAccess, "linkAuthentication">,
): Command {
  const link = before?.linkAuthentication ? LINK_AUTHENTICATION : 0;
  const bits = role === "none" ? 0 : MESSAGING | link;
  return ipmiCommand("Set User Access", NetFn.app, 0x43, {
    data: Uint8Array.of(0x80 | bits | channel, id & ID_MASK, role === "none" ? NO_ACCESS : ROLE_LEVELS[role]),
    needs: "administrator",
    effect: "set",
  });
}

/** Get User Name (section 22.29). */
export function getUserName(id: number): Command {
  return ipmiCommand("Get User Name", NetFn.app, 0x46, {
    data: Uint8Array.of(id & ID_MASK),
    needs: "operator",
  });
}

/** The name up to its first NUL or its padding of 0xFF; empty for a slot without one. */
export function parseUserName(data: Buffer): string {
  const name = data.subarray(0, USERNAME_BYTES);
  const end = name.findIndex((byte) => byte === 0 || byte === 0xff);
  return name.subarray(0, end === -1 ? undefined : end).toString("utf8");
}

/** The name of a free slot on BMCs of HP. */
export const NO_USER = /^[([<]?empty( user| slot)?[)\]>]?$/i;

/** The name of a slot's user; empty for a free one. */
function nameOf(text: string, { enabled }: UserAccess): string {
  return !enabled && NO_USER.test(text) ? "" : text;
}

/** Set User Name (section 22.28). An empty name frees the slot. Throws `usage` for a name that does not fit. */
export function setUserName(id: number, name: string): Command {
  const data = Buffer.alloc(1 + USERNAME_BYTES);
  data[0] = id & ID_MASK;
  data.set(usernameBytes(name), 1);
  return ipmiCommand("Set User Name", NetFn.app, 0x45, { data, needs: "administrator", effect: "set" });
}

const DISABLE_USER = 0x00;
const ENABLE_USER = 0x01;
const SET_PASSWORD = 0x02;
const TEST_PASSWORD = 0x03;
const TWENTY_BYTES = 0x80;
/** The size of passwords in IPMI 1.5. Every BMC accepts these, and both sides pad them with zeros. */
const SHORT_PASSWORD_BYTES = 16;
const LONG_PASSWORD_BYTES = 20;

/** The code of Set User Password if a test fails (section 22.30). */
export const PASSWORD_DIFFERS = 0x80;
export const PASSWORD_OF_OTHER_SIZE = 0x81;

/** How BMCs that store 16 bytes refuse longer passwords. */
const TOO_LONG: Refusal = { class: "unsupported", reason: "this BMC takes passwords of at most 16 bytes" };

/** The code for a violation of the vendor's password rules, for example of Dell's C6220. */
const AGAINST_RULES = 0x8f;
const UNFIT: Refusal = {
  class: "bmc",
  reason: "the BMC refuses this password: it may want another length or other characters",
};

/**
 * Set User Password (section 22.30), with 20 bytes if the password is longer than 16. Throws `usage` for a password that
 * does not fit or is empty.
 */
export function setUserPassword(id: number, password: Secret): Command {
  const { isLong, data } = passwordData(id, SET_PASSWORD, password);
  return ipmiCommand("Set User Password", NetFn.app, 0x47, {
    data,
    needs: "administrator",
    effect: "set",
    secret: true,
    refusals: {
      [AGAINST_RULES]: UNFIT,
      [INVALID_FIELD]: UNFIT,
      ...(isLong && {
        [PASSWORD_OF_OTHER_SIZE]: TOO_LONG,
        [WRONG_LENGTH]: TOO_LONG,
        [REQUEST_TOO_LONG]: TOO_LONG,
        [INVALID_FIELD]: TOO_LONG,
      }),
    },
  });
}

/** Compares a password with the BMC's by Set User Password, in the size in which it was set, or in `size`. */
export function testUserPassword(id: number, password: Secret, size?: "20 bytes"): Command {
  const { data } = passwordData(id, TEST_PASSWORD, password, size);
  return ipmiCommand("Set User Password (test password)", NetFn.app, 0x47, {
    data,
    needs: "administrator",
    secret: true,
  });
}

function passwordData(id: number, operation: number, password: Secret, size?: "20 bytes") {
  const bytes = passwordBytes(password.reveal());
  if (bytes.length === 0) throw new BmcError("usage", "the user's password is empty");
  const isLong = size !== undefined || bytes.length > SHORT_PASSWORD_BYTES;
  const data = Buffer.alloc(2 + (isLong ? LONG_PASSWORD_BYTES : SHORT_PASSWORD_BYTES));
  data[0] = (isLong ? TWENTY_BYTES : 0) | (id & ID_MASK);
  data[1] = operation;
  data.set(bytes, 2);
  return { isLong, data };
}

/** How BMCs refuse Set User Password without a password, even for operations that need none. */
export const WANTS_PASSWORD: ReadonlySet<number> = new Set([
  WRONG_LENGTH,
  REQUEST_TOO_LONG,
  PASSWORD_OF_OTHER_SIZE,
]);

/** Operations of Set User Password that need no password. Some BMCs accept them only with an empty one. */
export function enableUser(id: number, enabled: boolean, field?: "empty password"): Command {
  const head = Buffer.of(id & ID_MASK, enabled ? ENABLE_USER : DISABLE_USER);
  return ipmiCommand(
    enabled ? "Set User Password (enable user)" : "Set User Password (disable user)",
    NetFn.app,
    0x47,
    {
      data: field ? Buffer.concat([head, Buffer.alloc(SHORT_PASSWORD_BYTES)]) : head,
      needs: "administrator",
      effect: "set",
    },
  );
}

export interface UserSlot {
  readonly id: number;
  /** Empty if the slot is free, or if its user has no name. */
  readonly name: string;
  readonly access: UserAccess;
}

/** User IDs have six bits and begin with 1 (IPMI 2.0 section 22.26). */
const FIRST_ID = 1;
/** Codes that BMCs return for the name of a slot without one. */
export const NO_NAME = new Set([INVALID_FIELD, NOT_PRESENT]);

/** The maximum number of slots to try until one reports how many there are. */
const MOST_UNSIZED = 3;

/** A slot that could not be read. */
interface UnreadSlot {
  readonly id: number;
  readonly reason: string;
}

export interface UserTable {
  readonly slots: readonly UserSlot[];
  readonly unread: readonly UnreadSlot[];
}

/** Reads every slot in order, one round trip each: permissions and name are requested together. */
export async function readUserTable(
  channel: CommandChannel,
  lan: LanChannel,
  signal: AbortSignal,
): Promise<UserTable> {
  const slots: UserSlot[] = [];
  const unread: UnreadSlot[] = [];
  const parts = new PartRefusals();
  let size: number | undefined;
  for (let id = FIRST_ID; id <= (size ?? MOST_UNSIZED); id += 1) {
    try {
      const [access, name] = await readSlot(channel, lan, id, signal);
      if (!access || !name) continue;
      // BMCs report more slots than their channel has users. These have no names either.
      const isNamed = name.completionCode === COMPLETED && parseUserName(name.data) !== "";
      if (size !== undefined && NO_NAME.has(access.completionCode) && !isNamed) continue;
      const rights = parseUserAccess(dataOf(access));
      if (rights.slots < id) {
        throw new BmcError("protocol", `Get User Access: user ID ${id} of a table of ${rights.slots}`);
      }
      size ??= rights.slots;
      // A user who can log in has a name, except for the first one.
      const mayBeNameless = id === FIRST_ID || !rights.enabled || rights.role === "none";
      const text = mayBeNameless && NO_NAME.has(name.completionCode) ? "" : parseUserName(dataOf(name));
      if (!mayBeNameless && name.data.length === 0) {
        throw new BmcError("protocol", `Get User Name: user ID ${id} can log in, and the answer is empty`);
      }
      slots.push({ id, name: nameOf(text, rights), access: rights });
    } catch (thrown) {
      const error = parts.of(thrown);
      // Without the table's size, an unreadable slot cannot be distinguished from a BMC without a user table.
      if (size === undefined && (id === MOST_UNSIZED || error.class === "unsupported")) throw error;
      unread.push({ id, reason: error.message });
    }
  }
  return { slots, unread };
}

async function readSlot(channel: CommandChannel, lan: LanChannel, id: number, signal: AbortSignal) {
  const read = () => channel.run([getUserAccess(lan.current, id), getUserName(id)], signal);
  const answers = await read();
  const [access] = answers;
  return access && (await lan.hasOther(access.completionCode, signal)) ? read() : answers;
}

/** Reads what a user may do at present. */
export async function readUserAccess(
  channel: CommandChannel,
  lan: LanChannel,
  id: number,
  signal: AbortSignal,
): Promise<UserAccess> {
  const ask = () => exchange(channel, getUserAccess(lan.current, id), signal);
  const answer = await ask();
  const again = await lan.hasOther(answer.completionCode, signal);
  return parseUserAccess(dataOf(again ? await ask() : answer));
}
