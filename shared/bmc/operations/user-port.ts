import { BmcError } from "../../contract/bmc-error.ts";
import { defined } from "../../defined.ts";
import type { Secret } from "../../secret.ts";
import type { Access, Patience } from "./access.ts";
import { incompleteList, throwIfNoneRead, type Unread } from "./unread.ts";

/** What a user may do. */
export type UserRole = "administrator" | "operator" | "readonly";

/** A user of the BMC. */
export interface BmcUser {
  /** The BMC's ID of the user: a slot number or a resource path. */
  readonly id: string;
  /** The name to log in with. */
  readonly name: string;
  /** The role. `none` has no rights; `unknown` is a vendor's role. */
  readonly role: UserRole | "none" | "unknown";
  /** Whether it may log in. */
  readonly enabled: boolean;
  /** Why it could not be read, in one line: its name, which is then empty, is unknown. Absent for every other user. */
  readonly unread?: string;
}

/** Creates a placeholder for one or more accounts that the BMC lists but that could not be read. */
export function unreadUser(id: string, reason: string): BmcUser {
  return { id, name: "", role: "unknown", enabled: false, unread: reason };
}

export interface NewUser {
  readonly name: string;
  readonly password: Secret;
  readonly role: UserRole;
}

/** The fields to change. Absent fields stay as they are. */
export interface UserChange {
  readonly password?: Secret;
  readonly role?: UserRole;
}

/** Result of a login with a user's password; `unknown` if the BMC offers no way to try it. */
export type PasswordTrial = "accepted" | "refused" | "unknown";

/** The BMC's own user accounts. A call is one attempt; upsert and verification are the client's. */
export interface UserDriver {
  /** Throws `usage` for a name or password that the protocol cannot carry. Sends nothing. */
  checkUser?(user: Pick<NewUser, "name"> & Partial<NewUser>): void;
  /** Throws `auth` where the session is known not to be allowed to change users. Sends nothing. */
  checkRights?(): void;
  /** Accounts that have a name, then those that cannot be read; empty slots are left out. */
  list(signal: AbortSignal): Promise<readonly BmcUser[]>;
  /** Whether a user may log in without being listed, such as a user from a directory; absent if there are no such users. */
  hasUnlisted?(name: string, signal: AbortSignal): Promise<boolean>;
  create(user: NewUser, signal: AbortSignal): Promise<void>;
  change(user: BmcUser, change: UserChange, signal: AbortSignal): Promise<void>;
  remove(user: BmcUser, signal: AbortSignal): Promise<void>;
  /** Whether the BMC has this password for the user. A password that is wrong may count as a failed login. */
  tryPassword(user: BmcUser, password: Secret, signal: AbortSignal): Promise<PasswordTrial>;
}

/** The wanted settings of a user. Absent fields stay as they are; a new user needs both. */
export interface UserRequest {
  /** The name to log in with. */
  readonly name: string;
  /** Required for a new user. */
  readonly password?: Secret;
  /** Required for a new user. */
  readonly role?: UserRole;
  /** Whether to fail instead of creating a user that does not exist. */
  readonly mustExist?: boolean;
  /**
   * Whether an earlier call that was cut off may already have set this password, which only the caller knows. After every
   * refusal the operation then finds out which password is in force.
   */
  readonly mayBeSet?: boolean;
}

/** Result of creating, changing or deleting a user. */
export interface UserReport {
  /** Absent where there was no such user. */
  readonly before?: BmcUser;
  /** Absent where there is none any more. */
  readonly after?: BmcUser;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

/** The BMC's users with retries in place; what the operations need and no more. */
export type UserPort = ReturnType<typeof userPort>;

export function userPort(
  { connection, read, write, disprove, sleep, logInWith }: Access<{ readonly users: UserDriver }>,
  signal: AbortSignal,
) {
  return {
    /** The user name of the connection. */
    ownName: connection.username,
    checkUser: ({ name, password }: Pick<UserRequest, "name" | "password">) =>
      read(async ({ users }) => users.checkUser?.({ name, ...defined({ password }) })),
    checkRights: () => read(async ({ users }) => users.checkRights?.()),
    list: () => read(({ users }) => listUsers(users, connection.username, signal)),
    create: (user: NewUser, patience: Patience) => write(({ users }) => users.create(user, signal), patience),
    change: (user: BmcUser, change: UserChange, patience: Patience) =>
      write(({ users }) => users.change(user, change, signal), patience),
    disprove,
    remove: (user: BmcUser, patience: Patience) => write(({ users }) => users.remove(user, signal), patience),
    tryPassword: (user: BmcUser, password: Secret) =>
      read(({ users }) => users.tryPassword(user, password, signal)),
    logInWith,
    sleep,
  };
}

/** The placeholder for the connection's own account if the BMC does not list it. */
const OWN_ACCOUNT = "the account of this connection";

/** Lists the users of the BMC. Throws if no account can be read, and adds a placeholder if the list is known to be incomplete. */
export async function listUsers(
  driver: UserDriver,
  ownName: string | undefined,
  signal: AbortSignal,
): Promise<readonly BmcUser[]> {
  const listed = await driver.list(signal);
  const unread = unreadOf(listed);
  throwIfNoneRead(listed.length - unread.length, unread, "user");
  if (ownName === undefined || unread.length > 0 || isListed(listed, ownName)) return listed;
  if (await driver.hasUnlisted?.(ownName, signal)) return listed;
  return [...listed, unreadUser(OWN_ACCOUNT, `the BMC does not list ${ownName}`)];
}

/** Whether a user is listed. Ignores case, because some BMCs do so at login. */
function isListed(users: readonly BmcUser[], name: string): boolean {
  return users.some((user) => user.name.toLowerCase() === name.toLowerCase());
}

/** Whether the unreadable account `other` may be this user. It is not if the two have different entries in a list. */
export function mayBe({ id }: BmcUser, other: BmcUser): boolean {
  const listOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);
  return other.id === id || (other.id !== OWN_ACCOUNT && listOf(other.id) !== listOf(id));
}

/** The accounts that the BMC lists and that could not be read. */
export function unreadOf(users: readonly BmcUser[]): readonly Unread[] {
  return users.flatMap(({ id, unread }) => (unread === undefined ? [] : [{ name: id, reason: unread }]));
}

/**
 * Finds the user with this name. Throws if it may be one of those that could not be read. A deleted user whose name the BMC has
 * kept does not count.
 */
export function findUser(users: readonly BmcUser[], name: string): BmcUser | undefined {
  const found = users.find((user) => user.name === name && !isGone(user));
  const unread = unreadOf(users);
  if (found || unread.length === 0) return found;
  throw incompleteList(`user ${name} is not among the users that can be read`, unread);
}

/** Whether a user counts as deleted. Some BMCs never free a name, so a user without rights counts. */
export function isGone({ enabled, role }: BmcUser): boolean {
  return !enabled && role === "none";
}

/**
 * The error of a change whose password was set when the rest failed. It is `uncertain`, and never `unsupported`, because the
 * next provider would then start again.
 */
export class HalfDone extends BmcError {
  /** Why the rest failed. */
  readonly rest: BmcError;

  constructor(thrown: unknown) {
    const rest = BmcError.from(thrown);
    const errorClass = rest.class === "unsupported" ? "bmc" : rest.class;
    super(errorClass, `${rest.message}; the password is set`, { cause: rest, uncertain: true });
    this.rest = rest;
  }
}
