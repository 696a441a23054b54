import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Secret } from "../../../../secret.ts";
import type { SessionPrivilege } from "../../../operations/access.ts";
import { differenceOf, sendToTarget, TargetMoved } from "../../../operations/identity.ts";
import type {
  BmcUser,
  NewUser,
  PasswordTrial,
  UserChange,
  UserDriver,
  UserRole,
} from "../../../operations/user-port.ts";
import { findUser, HalfDone, unreadUser } from "../../../operations/user-port.ts";
import { type Answer, type CommandChannel, dataOf, exchange, request } from "../commands/channel.ts";
import { COMPLETED, NODE_BUSY, RefusedCommand, tooLittlePrivilege } from "../commands/completion-code.ts";
import { usernameBytes } from "../commands/credentials.ts";
import type { LanChannel } from "../commands/lan-channel.ts";
import {
  enableUser,
  getUserName,
  NO_NAME,
  NO_USER,
  PASSWORD_DIFFERS,
  PASSWORD_OF_OTHER_SIZE,
  parseUserName,
  readUserAccess,
  readUserTable,
  setUserAccess,
  setUserName,
  setUserPassword,
  testUserPassword,
  type UserAccess,
  type UserSlot,
  type UserTable,
  WANTS_PASSWORD,
} from "../commands/users.ts";

/** User ID 1 has no name (IPMI 2.0 section 6.9.1), and many BMCs reserve it. */
const NAMELESS_USER = 1;
const UNDO_LIMIT_MS = 5_000;
/** Pauses after which a user who is not yet enabled may be enabled anyway. */
const ENABLED_AFTER_MS = [0, 500, 1_500] as const;

interface IpmiUsersOptions {
  readonly privilege: SessionPrivilege;
  readonly clock: Clock;
}

/** The BMC's user table on the current channel (IPMI 2.0 sections 22.26 to 22.30). Changes require ADMINISTRATOR. */
export class IpmiUsers implements UserDriver {
  readonly #channel: CommandChannel;
  readonly #lan: LanChannel;
  readonly #privilege: SessionPrivilege;
  readonly #clock: Clock;

  constructor(channel: CommandChannel, lan: LanChannel, { privilege, clock }: IpmiUsersOptions) {
    this.#channel = channel;
    this.#lan = lan;
    this.#privilege = privilege;
    this.#clock = clock;
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
    const { slots, unread } = await readUserTable(this.#channel, this.#lan, signal);
    const users = slots
      .filter(({ name }) => name !== "")
      .map(({ id, name, access: { role, enabled } }) => ({ id: String(id), name, role, enabled }));
    return [...users, ...unread.map(({ id, reason }) => unreadUser(String(id), reason))];
  }

  /**
   * Creates a user. Throws `usage` for a name or password that does not fit, and `bmc` if the name is taken or no slot is
   * free. If the BMC refuses a slot, because of its fixed name or its access, the slot is restored and the next one is
   * tried.
   */
  async create(user: NewUser, signal: AbortSignal): Promise<void> {
    // Checked before anything is sent, so that an invalid value changes nothing.
    this.checkUser(user);
    this.checkRights();
    let refusal: BmcError | undefined;
    for (const { id, access } of freeSlots(await this.#table(signal), user.name)) {
      await this.#check(id, "", signal);
      const named = await exchange(this.#channel, setUserName(id, user.name), signal);
      const isTaken = named.completionCode === COMPLETED;
      try {
        dataOf(named);
        // The user cannot log in before the last step.
        await request(this.#channel, setUserPassword(id, user.password), signal);
        await this.#setAccess(id, user.role, access, signal);
        await this.#enable(id, signal);
        return;
      } catch (thrown) {
        if (isTaken) await this.#undo(id);
        if (!concernsSlot(thrown)) throw thrown;
        refusal ??= thrown;
      }
    }
    const { class: errorClass, message } = refusal ?? new BmcError("internal", "there is none");
    throw new BmcError(errorClass, `no free slot of the user table takes the user: ${message}`, {
      cause: refusal,
    });
  }

  /** Changes a user. A role applies only to an enabled user, so giving one enables the user. */
  async change(user: BmcUser, change: UserChange, signal: AbortSignal): Promise<void> {
    await sendToTarget(async (again) =>
      this.#change(again ? await this.#findAgain(user, signal) : user, change, signal),
    );
  }

  async #findAgain(user: BmcUser, signal: AbortSignal): Promise<BmcUser> {
    const found = findUser(await this.list(signal), user.name);
    if (found) return found;
    throw new TargetMoved(`user ${user.name}`, `user ID ${user.id}`, "another user or none");
  }

  async #change(user: BmcUser, { password, role }: UserChange, signal: AbortSignal): Promise<void> {
    const id = slotId(user);
    await this.#check(id, user.name, signal);
    if (password) await request(this.#channel, setUserPassword(id, password), signal);
    if (!role) return;
    try {
      if (password) await this.#check(id, user.name, signal);
      const before = await readUserAccess(this.#channel, this.#lan, id, signal);
      await this.#setAccess(id, role, before, signal);
      await this.#enable(id, signal);
    } catch (thrown) {
      throw password ? new HalfDone(thrown) : thrown;
    }
  }

  #table(signal: AbortSignal): Promise<UserTable> {
    return readUserTable(this.#channel, this.#lan, signal);
  }

  async #setAccess(
    id: number,
    role: UserRole | "none",
    before: UserAccess | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const set = () => exchange(this.#channel, setUserAccess(this.#lan.current, id, role, before), signal);
    const answer = await set();
    dataOf((await this.#lan.hasOther(answer.completionCode, signal)) ? await set() : answer);
  }

  /** Enables a user. Some BMCs refuse this for a user whom Set User Access has enabled; their state counts. */
  async #enable(id: number, signal: AbortSignal): Promise<void> {
    const answer = await this.#setEnabled(id, true, signal);
    if (answer.completionCode === COMPLETED) return;
    for (const pauseMs of ENABLED_AFTER_MS) {
      await this.#clock.sleep(pauseMs, signal);
      const access = await readUserAccess(this.#channel, this.#lan, id, signal);
      if (access.enabled) return;
    }
    dataOf(answer);
  }

  async #setEnabled(id: number, enabled: boolean, signal: AbortSignal): Promise<Answer> {
    const answer = await exchange(this.#channel, enableUser(id, enabled), signal);
    if (!WANTS_PASSWORD.has(answer.completionCode)) return answer;
    return exchange(this.#channel, enableUser(id, enabled, "empty password"), signal);
  }

  /** Compares a password through the BMC's own command. A BMC without it proves nothing either way. */
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
   * Disables a user, removes the access and clears the name. BMCs refuse some of these steps; that is an error only if the
   * user could still log in.
   */
  async remove(user: BmcUser, signal: AbortSignal): Promise<void> {
    const id = slotId(user);
    if (id === NAMELESS_USER)
      throw new BmcError("unsupported", "user ID 1 is the BMC's own and cannot be removed");
    await this.#check(id, user.name, signal);
    const answers = await this.#clear(id, signal);
    const [refusal] = answers;
    if (refusal && answers.every(({ completionCode }) => completionCode !== COMPLETED)) dataOf(refusal);
  }

  async #clear(id: number, signal: AbortSignal): Promise<readonly Answer[]> {
    return [
      await this.#setEnabled(id, false, signal),
      await exchange(this.#channel, setUserAccess(this.#lan.current, id, "none"), signal),
      await exchange(this.#channel, setUserName(id, ""), signal),
    ];
  }

  /** Checks that the slot was not given to another user since the table was read. */
  async #check(id: number, name: string, signal: AbortSignal): Promise<void> {
    const answer = await exchange(this.#channel, getUserName(id), signal);
    const now = NO_NAME.has(answer.completionCode) ? "" : parseUserName(dataOf(answer));
    if (name === "" && NO_USER.test(now)) return;
    const difference = differenceOf({ UserName: name }, { UserName: now });
    if (difference === undefined) return;
    throw new TargetMoved(name === "" ? "a free slot" : `user ${name}`, `user ID ${id}`, difference);
  }

  /** Removes an incomplete user, whose name would be in the way. */
  async #undo(id: number): Promise<void> {
    try {
      await this.#clear(id, AbortSignal.timeout(UNDO_LIMIT_MS));
    } catch {
      // The failure that led here is the one to report.
    }
  }
}

/**
 * Free slots, the best first. BMCs differ in whether they count fixed names like the specification, or users. Throws if
 * there is none.
 */
function freeSlots({ slots, unread: [unread] }: UserTable, name: string): readonly UserSlot[] {
  const namesake = slots.find((slot) => slot.name === name);
  if (namesake) throw new BmcError("bmc", `the user name ${name} is already used by user ID ${namesake.id}`);
  if (unread) {
    const text = `user ID ${unread.id} cannot be read and may be used by ${name}: ${unread.reason}`;
    throw new BmcError("bmc", text);
  }
  const free = slots.filter((slot) => slot.id > NAMELESS_USER && slot.name === "" && !isInUse(slot.access));
  if (free.length === 0)
    throw new BmcError("bmc", `all ${slots.length} slots of the BMC's user table are taken`);
  const isFixed = ({ id, access }: UserSlot) => id <= access.fixedNames;
  return [...free.filter((slot) => !isFixed(slot)), ...free.filter(isFixed)];
}

/** Classes of refusals that every other slot would get as well. */
const OF_ALL_SLOTS: readonly BmcError["class"][] = ["auth", "busy", "timeout"];

/** Whether a refusal concerns only the tried slot. */
function concernsSlot(thrown: unknown): thrown is RefusedCommand {
  return thrown instanceof RefusedCommand && !thrown.command.secret && !OF_ALL_SLOTS.includes(thrown.class);
}

/** Whether a slot is in use, which does not require a name. */
function isInUse({ enabled, role }: UserSlot["access"]): boolean {
  return enabled && role !== "none";
}

function slotId({ id, name }: BmcUser): number {
  const slot = Number(id);
  if (Number.isInteger(slot) && slot >= 1 && slot <= 63) return slot;
  throw new BmcError("internal", `user ${name} has the ID ${id}, which is not a slot of an IPMI user table`);
}
