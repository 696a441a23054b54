import { BmcError } from "../errors.ts";
import type { BmcUser, NewUser, UserChange, UserDriver } from "../provider.ts";
import { type CommandChannel, dataOf, exchange, request } from "./channel.ts";
import type { Command } from "./command.ts";
import { COMPLETED } from "./completion-code.ts";
import { usernameBytes } from "./credentials.ts";
import { readUserTable, type UserSlot } from "./user-table.ts";
import { enableUser, setUserAccess, setUserName, setUserPassword } from "./users.ts";

/** User ID 1 is the one without a name (IPMI 2.0 section 6.9.1), which many BMCs keep to themselves. */
const NAMELESS_USER = 1;
const UNDO_LIMIT_MS = 5_000;

/** The BMC's user table, on the channel in use (IPMI 2.0 sections 22.26 to 22.30). Changes need ADMINISTRATOR. */
export class IpmiUsers implements UserDriver {
  readonly #channel: CommandChannel;

  constructor(channel: CommandChannel) {
    this.#channel = channel;
  }

  async list(signal: AbortSignal): Promise<readonly BmcUser[]> {
    const table = await readUserTable(this.#channel, signal);
    return table
      .filter(({ name }) => name !== "")
      .map(({ id, name, access: { role, enabled } }) => ({ id: String(id), name, role, enabled }));
  }

  /** Throws `usage` for a name or password that does not fit, `bmc` when the name is taken or no slot free. */
  async create(user: NewUser, signal: AbortSignal): Promise<void> {
    if (usernameBytes(user.name).length === 0) throw new BmcError("usage", "the user name is empty");
    // Built before anything is sent, so that what does not fit changes nothing.
    setUserPassword(NAMELESS_USER, user.password);
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
    for (const command of commands) await request(this.#channel, command, signal);
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

function freeSlot(table: readonly UserSlot[], name: string): number {
  const namesake = table.find((slot) => slot.name === name);
  if (namesake) throw new BmcError("bmc", `the user name ${name} is taken by user ID ${namesake.id}`);
  const free = table.find(
    ({ id, name, access }) => id > NAMELESS_USER && id > access.fixedNames && name === "" && !isInUse(access),
  );
  if (!free) throw new BmcError("bmc", `all ${table.length} slots of the BMC's user table are taken`);
  return free.id;
}

/** A user may go without a name and still be one. */
function isInUse({ enabled, role }: UserSlot["access"]): boolean {
  return enabled && role !== "none";
}

function slotId({ id, name }: BmcUser): number {
  const slot = Number(id);
  if (Number.isInteger(slot) && slot >= 1 && slot <= 63) return slot;
  throw new BmcError("internal", `user ${name} has the ID ${id}, which is no slot of an IPMI user table`);
}
