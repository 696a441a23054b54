import { BmcError } from "../../contract/bmc-error.ts";
import type { Secret } from "../../secret.ts";

export type UserRole = "administrator" | "operator" | "readonly";

export interface BmcUser {
  /** The BMC's own: a slot number or a resource path. */
  readonly id: string;
  readonly name: string;
  readonly role: UserRole | "none" | "unknown";
  readonly enabled: boolean;
}

export interface NewUser {
  readonly name: string;
  readonly password: Secret;
  readonly role: UserRole;
}

/** What is to change; what is absent stays as it is. */
export interface UserChange {
  readonly password?: Secret;
  readonly role?: UserRole;
}

/** What trying a user's password out has shown; `unknown` where the BMC does not let anybody try. */
export type PasswordTrial = "accepted" | "refused" | "unknown";

/** The BMC's own user accounts. A call is one attempt; upsert and verification are the client's. */
export interface UserDriver {
  /** Throws `usage` for a name or password that the protocol cannot carry. Sends nothing. */
  checkUser?(user: Pick<NewUser, "name"> & Partial<NewUser>): void;
  /** Throws `auth` where the session is known not to be allowed to change users. Sends nothing. */
  checkRights?(): void;
  /** Accounts that have a name; empty slots are left out. */
  list(signal: AbortSignal): Promise<readonly BmcUser[]>;
  create(user: NewUser, signal: AbortSignal): Promise<void>;
  change(user: BmcUser, change: UserChange, signal: AbortSignal): Promise<void>;
  remove(user: BmcUser, signal: AbortSignal): Promise<void>;
  /** Whether the BMC has this password for the user. A password that is wrong may count as a failed login. */
  tryPassword(user: BmcUser, password: Secret, signal: AbortSignal): Promise<PasswordTrial>;
}

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
