import type { Secret } from "../secret.ts";
import { BmcError } from "./errors.ts";
import type { BmcUser, NewUser, UserChange, UserRole } from "./provider.ts";

/** A user as it is to be. What is absent stays as it is; a new user needs both. */
export interface UserRequest {
  readonly name: string;
  readonly password?: Secret;
  readonly role?: UserRole;
}

export interface UserReport {
  readonly changed: boolean;
  readonly summary: string;
}

/** The BMC's users with retries in place; what the operations need and no more. */
export interface UserPort {
  /** Whom the connection logs in as. */
  readonly ownName: string | undefined;
  list(): Promise<readonly BmcUser[]>;
  create(user: NewUser): Promise<void>;
  change(user: BmcUser, change: UserChange): Promise<void>;
  remove(user: BmcUser): Promise<void>;
}

/** Creates the user, or changes the one there is, and sees that the list shows it so. */
export async function putUser(port: UserPort, request: UserRequest): Promise<UserReport> {
  const { name, password, role } = request;
  const existing = find(await port.list(), name);
  if (existing) {
    await port.change(existing, { ...(password ? { password } : {}), ...(role ? { role } : {}) });
  } else if (password && role) {
    await port.create({ name, password, role });
  } else {
    throw new BmcError("usage", `there is no user ${name}: a new one needs a password and a role`);
  }
  const after = find(await port.list(), name);
  if (!after) throw new BmcError("verify", `the BMC accepted user ${name} and does not list it`);
  if (role && after.role !== role && after.role !== "unknown") {
    throw new BmcError("verify", `asked for user ${name} as ${role}, the BMC has it as ${after.role}`);
  }
  return {
    changed: true,
    summary: `user ${name} ${existing ? "updated" : "created"}${role ? ` as ${role}` : ""}`,
  };
}

/** Deletes the user and sees that it is gone; that there is none is success. */
export async function deleteUser(port: UserPort, name: string): Promise<UserReport> {
  if (name === port.ownName) {
    throw new BmcError(
      "usage",
      `user ${name} is the one this connection logs in as: it does not delete itself`,
    );
  }
  const existing = find(await port.list(), name);
  if (!existing || isGone(existing)) return { changed: false, summary: `user ${name} already absent` };
  await port.remove(existing);
  const left = find(await port.list(), name);
  if (left && !isGone(left)) {
    throw new BmcError("verify", `the BMC accepted the deletion of user ${name} and still lists it`);
  }
  return { changed: true, summary: `user ${name} deleted` };
}

/** Some BMCs never give a name up: a user that may do nothing is as good as deleted. */
function isGone({ enabled, role }: BmcUser): boolean {
  return !enabled && role === "none";
}

function find(users: readonly BmcUser[], name: string): BmcUser | undefined {
  return users.find((user) => user.name === name);
}
