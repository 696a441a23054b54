import { BmcError } from "../../../contract/bmc-error.ts";
import type { Secret } from "../../../secret.ts";
import type { SessionPrivilege } from "../../operations/access.ts";
import type { BmcUser, NewUser, PasswordTrial, UserChange, UserDriver } from "../../operations/user-port.ts";
import { HalfDone, unreadUser } from "../../operations/user-port.ts";
import { type CommandChannel, dataOf, exchange, request } from "./channel.ts";
import type { Command } from "./command.ts";
import { COMPLETED, NODE_BUSY, tooLittlePrivilege } from "./completion-code.ts";
import { usernameBytes } from "./credentials.ts";
import {
  enableUser,
  PASSWORD_DIFFERS,
  PASSWORD_OF_OTHER_SIZE,
  readUserTable,
  setUserAccess,
  setUserName,
  setUserPassword,
  testUserPassword,
  type UserSlot,
  type UserTable,
} from "./users.ts";

/** User ID 1 is the one without a name (IPMI 2.0 section 6.9.1), which many BMCs keep to themselves. */
const NAMELESS_USER = 1;
const UNDO_LIMIT_MS = 5_000;

/** The BMC's user table, on the channel in use (IPMI 2.0 sections 22.26 to 22.30). Changes need ADMINISTRATOR. */
export class IpmiUsers implements UserDriver {
  readonly #channel: CommandChannel;
  readonly #privilege: SessionPrivilege;

  constructor(channel: CommandChannel, privilege: SessionPrivilege) {
    this.#channel = channel;
    this.#privilege = privilege;
  }

  checkUser({ name, password }: Pick<NewUser, "name"> & Partial<NewUser>): void {
    if (usernameBytes(name).length === 0) throw new BmcError("usage", "the user name is empty");
    if (password) setUserPassword(NAMELESS_USER, password);
  }

  checkRights(): void {
    if (this.#privilege === "administrator") return;
    throw new BmcError("auth", `to change users: ${tooLittlePrivilege("administrator")}`, {
      refused: "right",
    });
  }

  async list(signal: AbortSignal): Promise<readonly BmcUser[]> {
    const { slots, unread } = await readUserTable(this.#channel, signal);
    const users = slots
      .filter(({ name }) => name !== "")
      .map(({ id, name, access: { role, enabled } }) => ({ id: String(id), name, role, enabled }));
    return [...users, ...unread.map(({ id, reason }) => unreadUser(String(id), reason))];
  }

  /** Throws `usage` for a name or password that does not fit, `bmc` when the name is taken or no slot free. */
  async create(user: NewUser, signal: AbortSignal): Promise<void> {
    // Before anything is sent, so that what does not fit changes nothing.
    this.checkUser(user);
    this.checkRights();
    const id = freeSlot(await readUserTable(this.#channel, signal), user.name);
    await request(this.#channel, setUserName(id, user.name), signal);
    try {
      // The user can log in from the last step on, not before.
      await request(this.#channel, setUserPassword(id, user.password), signal);
      await request(this.#channel, setUserAccess(id, user.role), signal);
      await request(this.#channel, enableUser(id, true), signal);
    } catch (thrown) {
      await this.#undo(id);
      throw thrown;
    }
  }

  /** A role is in force only for an enabled user, so giving one enables. */
  async change(user: BmcUser, { password, role }: UserChange, signal: AbortSignal): Promise<void> {
    const id = slotId(user);
    const commands = [
      ...(password ? [setUserPassword(id, password)] : []),
      ...(role ? [setUserAccess(id, role), enableUser(id, true)] : []),
    ];
    for (const [index, command] of commands.entries()) {
      try {
        await request(this.#channel, command, signal);
      } catch (thrown) {
        throw password && index > 0 ? new HalfDone(thrown) : thrown;
      }
    }
  }

  /** By the BMC's own comparison; one that has none is no evidence either way. */
  async tryPassword(user: BmcUser, password: Secret, signal: AbortSignal): Promise<PasswordTrial> {
    const id = slotId(user);
    let answer = await exchange(this.#channel, testUserPassword(id, password), signal);
    if (answer.completionCode === PASSWORD_OF_OTHER_SIZE) {
      answer = await exchange(this.#channel, testUserPassword(id, password, "20 bytes"), signal);
    }
    const { completionCode } = answer;
    if (completionCode === COMPLETED) return "accepted";
    if (completionCode === PASSWORD_DIFFERS || completionCode === PASSWORD_OF_OTHER_SIZE) return "refused";
    if (completionCode === NODE_BUSY) dataOf(answer);
    return "unknown";
  }

  /**
   * Disables, takes the access, clears the name. BMCs refuse one or another of these; what is refused is an
   * error only when the user could still log in.
   */
  async remove(user: BmcUser, signal: AbortSignal): Promise<void> {
    const id = slotId(user);
    if (id === NAMELESS_USER)
      throw new BmcError("unsupported", "user ID 1 is the BMC's own and cannot be removed");
    const steps = [enableUser(id, false), setUserAccess(id, "none"), setUserName(id, "")];
    const answers = [];
    for (const step of steps) answers.push(await exchange(this.#channel, step, signal));
    const [refusal] = answers;
    if (refusal && answers.every(({ completionCode }) => completionCode !== COMPLETED)) dataOf(refusal);
  }

  /** A user half made is no use, and its name would be in the way. */
  async #undo(id: number): Promise<void> {
    const signal = AbortSignal.timeout(UNDO_LIMIT_MS);
    const steps: Command[] = [enableUser(id, false), setUserAccess(id, "none"), setUserName(id, "")];
    try {
      for (const step of steps) await exchange(this.#channel, step, signal);
    } catch {
      // The failure that led here is the one to report.
    }
  }
}

function freeSlot({ slots, unread: [unread] }: UserTable, name: string): number {
  const namesake = slots.find((slot) => slot.name === name);
  if (namesake) throw new BmcError("bmc", `the user name ${name} is already used by user ID ${namesake.id}`);
  if (unread) {
    const text = `user ID ${unread.id} cannot be read and may be used by ${name}: ${unread.reason}`;
    throw new BmcError("bmc", text);
  }
  const free = slots.find(
    ({ id, name, access }) => id > NAMELESS_USER && id > access.fixedNames && name === "" && !isInUse(access),
  );
  if (!free) throw new BmcError("bmc", `all ${slots.length} slots of the BMC's user table are taken`);
  return free.id;
}

/** A user may go without a name and still be one. */
function isInUse({ enabled, role }: UserSlot["access"]): boolean {
  return enabled && role !== "none";
}

function slotId({ id, name }: BmcUser): number {
  const slot = Number(id);
  if (Number.isInteger(slot) && slot >= 1 && slot <= 63) return slot;
  throw new BmcError("internal", `user ${name} has the ID ${id}, which is not a slot of an IPMI user table`);
}
