import { BmcError } from "../../contract/bmc-error.ts";
import type { Secret } from "../../secret.ts";
import type { BmcUser, NewUser, PasswordTrial, UserChange, UserRole } from "../provider.ts";

/** A user as it is to be. What is absent stays as it is; a new user needs both. */
export interface UserRequest {
  readonly name: string;
  readonly password?: Secret;
  readonly role?: UserRole;
  /** Refuse to create it: there must be one to change. */
  readonly mustExist?: boolean;
  /** An earlier call that was cut off may have set this password already. */
  readonly mayBeSet?: boolean;
}

export interface UserReport {
  /** Absent where there was no such user. */
  readonly before?: BmcUser;
  /** Absent where there is none any more. */
  readonly after?: BmcUser;
  readonly changed: boolean;
  readonly summary: string;
}

/** The BMC's users with retries in place; what the operations need and no more. */
export interface UserPort {
  /** Whom the connection logs in as. */
  readonly ownName: string | undefined;
  /** Throws `usage` for a name or password that the provider cannot carry. Sends nothing. */
  checkUser(user: Pick<UserRequest, "name" | "password">): Promise<void>;
  /** Throws `auth` where the session is known not to be allowed to change users. Sends nothing. */
  checkRights(): Promise<void>;
  list(): Promise<readonly BmcUser[]>;
  create(user: NewUser): Promise<void>;
  change(user: BmcUser, change: UserChange): Promise<void>;
  remove(user: BmcUser): Promise<void>;
  /** Whether the BMC has this password for another user than the connection's own. */
  tryPassword(user: BmcUser, password: Secret): Promise<PasswordTrial>;
  /** From now on the connection logs in with this password; without one, with the password it came with. */
  logInWith(password: Secret | undefined): Promise<void>;
  sleep(ms: number): Promise<void>;
}

/** BMCs take changes over in their own time. A password is tried as often as this, so no account locks. */
export const LOOKS = 2;
export const PAUSE_MS = 3_000;

/** Deletes the user and sees that it is gone; that there is none is success. */
export async function deleteUser(port: UserPort, name: string): Promise<UserReport> {
  const before = await userToDelete(port, name);
  if (!before) return { changed: false, summary: `user ${name} already absent` };
  let left: BmcUser | undefined = before;
  for (let attempt = 1; ; attempt += 1) {
    const target: BmcUser = left;
    const lost = await uncertainty(() => port.remove(target));
    left = await userLeft(port, name);
    if (!left) return { before, changed: true, summary: `user ${name} deleted` };
    if (lost && attempt > 1) throw lost;
    if (lost) continue;
    throw new BmcError("verify", `the BMC accepted the deletion of user ${name} and still lists it`);
  }
}

/** What `deleteUser` would do, for people. Reads the users and changes nothing. */
export async function planDeleteUser(
  port: Pick<UserPort, "checkRights" | "checkUser" | "list" | "ownName">,
  name: string,
): Promise<{ readonly before: BmcUser | undefined; readonly steps: readonly string[] }> {
  const before = await userToDelete(port, name);
  return { before, steps: before ? [`delete user ${name}`] : [] };
}

async function userToDelete(
  port: Pick<UserPort, "checkRights" | "checkUser" | "list" | "ownName">,
  name: string,
): Promise<BmcUser | undefined> {
  if (name === port.ownName) {
    throw new BmcError(
      "usage",
      `user ${name} is the one this connection logs in as: it does not delete itself`,
    );
  }
  await port.checkUser({ name });
  const existing = findUser(await port.list(), name);
  if (existing) await port.checkRights();
  return existing;
}

async function userLeft(port: UserPort, name: string): Promise<BmcUser | undefined> {
  let left = findUser(await port.list(), name);
  for (let look = 1; left && look < LOOKS; look += 1) {
    await port.sleep(PAUSE_MS);
    left = findUser(await port.list(), name);
  }
  return left;
}

/** The error of a write whose answer was lost, after which only a look can tell; other errors are thrown. */
export async function uncertainty(write: () => Promise<void>): Promise<BmcError | undefined> {
  try {
    await write();
    return undefined;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.uncertain) return error;
    throw error;
  }
}

/** The user of this name; what has only the name left of a user does not count. */
export function findUser(users: readonly BmcUser[], name: string): BmcUser | undefined {
  return users.find((user) => user.name === name && !isGone(user));
}

/** Some BMCs never give a name up: a user that may do nothing is as good as deleted. */
export function isGone({ enabled, role }: BmcUser): boolean {
  return !enabled && role === "none";
}
