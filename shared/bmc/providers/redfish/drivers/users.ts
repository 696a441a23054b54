import * as z from "zod/mini";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Secret } from "../../../../secret.ts";
import { identityIn, sendToTarget, TargetMoved } from "../../../operations/identity.ts";
import type { Unread } from "../../../operations/unread.ts";
import type {
  BmcUser,
  NewUser,
  PasswordTrial,
  UserChange,
  UserDriver,
  UserRole,
} from "../../../operations/user-port.ts";
import { findUser, HalfDone, unreadUser } from "../../../operations/user-port.ts";
import type { Members } from "../resources/members.ts";
import type { ManagedSystem } from "../resources/system.ts";
import type { Target, WriteRequest, Writer } from "../resources/writer.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import type { PasswordTrials } from "../service/password-trials.ts";
import { namesProperty, readRefusal } from "../service/refusal.ts";
import { identifying, Link, lenient } from "../service/schema.ts";
import type { Resource } from "../service/service.ts";

const SERVICE = "/redfish/v1/AccountService";
const ACCOUNTS = `${SERVICE}/Accounts`;

/** iLO 4 has privileges instead of roles. */
const Privileges = z.record(z.string(), z.unknown());
const HpeAccount = z.object({ Privileges: lenient(Privileges) });

/** ManagerAccount (DSP0268), as far as it is read. */
const Account = z.object({
  "@odata.etag": lenient(z.string()),
  Id: lenient(z.string()),
  UserName: identifying(lenient(z.string())),
  RoleId: lenient(z.string()),
  Enabled: lenient(z.boolean()),
  Oem: lenient(z.object({ Hpe: lenient(HpeAccount), Hp: lenient(HpeAccount) })),
});
type Account = z.infer<typeof Account>;

const MOST_ACCOUNTS = 256;
const MOST_REQUESTS = 300;
/** The maximum number of free slots to try; some BMCs reserve the first ones. */
const MOST_SLOTS = 4;

const External = lenient(z.object({ ServiceEnabled: lenient(z.boolean()) }));
/** AccountService (DSP0268), with its rules for accounts that it does not list; iLO has a separate directory. */
const AccountService = z.object({
  Accounts: lenient(Link),
  ActiveDirectory: External,
  LDAP: External,
  OAuth2: External,
  TACACSplus: External,
  AdditionalExternalAccountProviders: lenient(Link),
  Oem: lenient(
    z.object({
      Hpe: lenient(
        z.object({ DirectorySettings: lenient(z.object({ LdapServiceEnabled: lenient(z.boolean()) })) }),
      ),
    }),
  ),
});
/** The name of a free slot. */
const FREE = "";

/** Roles of every service (DSP0266 section 13.3.2). */
const ROLE_IDS: Readonly<Record<UserRole, string>> = {
  administrator: "Administrator",
  operator: "Operator",
  readonly: "ReadOnly",
};

const ROLES: Readonly<Record<string, BmcUser["role"]>> = {
  administrator: "administrator",
  operator: "operator",
  readonly: "readonly",
  readonlyuser: "readonly",
  none: "none",
  noaccess: "none",
};

const USER_ROLES = ["administrator", "operator", "readonly"] as const;

/** The privileges of these roles on iLO. */
const HPE_PRIVILEGES: Readonly<Record<UserRole, readonly string[]>> = {
  administrator: [
    "LoginPriv",
    "RemoteConsolePriv",
    "UserConfigPriv",
    "VirtualMediaPriv",
    "VirtualPowerAndResetPriv",
    "iLOConfigPriv",
  ],
  operator: ["LoginPriv", "RemoteConsolePriv", "VirtualMediaPriv", "VirtualPowerAndResetPriv"],
  readonly: ["LoginPriv"],
};

/** Statuses which mean that the method is refused, not the account. */
const NOT_ALLOWED = [404, 405, 501];

interface Parts {
  readonly system: ManagedSystem;
  readonly members: Members;
  readonly writer: Writer;
  readonly trial: PasswordTrials;
}

export class RedfishUsers implements UserDriver {
  readonly #system: ManagedSystem;
  readonly #members: Members;
  readonly #writer: Writer;
  readonly #trial: PasswordTrials;
  #collection: string | undefined;

  constructor({ system, members, writer, trial }: Parts, collection: string | undefined) {
    this.#system = system;
    this.#members = members;
    this.#writer = writer;
    this.#trial = trial;
    this.#collection = collection;
  }

  /** The path of the collection of accounts, if it is not the usual one. */
  get collection(): string | undefined {
    return this.#collection;
  }

  async list(signal: AbortSignal): Promise<readonly BmcUser[]> {
    const gaps = new Map<string, BmcUser>();
    const unread = ({ name, reason }: Unread) => gaps.set(name, unreadUser(name, reason));
    const accounts = await this.#accounts(signal, unread);
    return [...accounts.flatMap((account) => bmcUser(account) ?? []), ...gaps.values()];
  }

  async hasUnlisted(name: string, signal: AbortSignal): Promise<boolean> {
    if (/[\\@]/.test(name)) return true;
    const found = (await this.#system.service.find(SERVICE, AccountService, signal))?.value ?? {};
    const { ActiveDirectory: ad, LDAP: ldap, OAuth2: oauth, TACACSplus: tacacs } = found;
    const more = this.#system.service.localPath(found.AdditionalExternalAccountProviders?.["@odata.id"]);
    if (more !== undefined && (await this.#mayHaveMembers(more, signal))) return true;
    if (found.Oem?.Hpe?.DirectorySettings?.LdapServiceEnabled) return true;
    return [ad, ldap, oauth, tacacs].some((provider) => provider?.ServiceEnabled === true);
  }

  /**
   * Whether a collection may have members. Collections that the BMC does not show, like iDRACs without a license, may have
   * some.
   */
  async #mayHaveMembers(path: string, signal: AbortSignal): Promise<boolean> {
    try {
      return ((await this.#members.count(path, signal)) ?? 0) > 0;
    } catch (thrown) {
      signal.throwIfAborted();
      if (!["protocol", "unsupported", "verify"].includes(BmcError.from(thrown).class)) throw thrown;
      return true;
    }
  }

  async create(user: NewUser, signal: AbortSignal): Promise<void> {
    if (this.#system.behaviour.accounts === "slots") {
      await sendToTarget(() => this.#fillSlot(user, signal));
      return;
    }
    const refused = await this.#post(user, signal);
    if (!refused) return;
    // A refused request may have been carried out; the list shows that.
    const accounts = await this.#accounts(signal);
    if (accounts.some(({ value }) => value.UserName?.trim() === user.name)) return;
    await sendToTarget(() => this.#fillSlot(user, signal));
    this.#system.learn("fixed-account-slots");
  }

  /** Sends password and role separately, so that a refusal shows which of them was refused. */
  async change(user: BmcUser, change: UserChange, signal: AbortSignal): Promise<void> {
    await sendToTarget(async (again) =>
      this.#change(again ? await this.#findAgain(user, signal) : user, change, signal),
    );
  }

  async #change(user: BmcUser, { password, role }: UserChange, signal: AbortSignal): Promise<void> {
    const target = this.#targetOf(user);
    const { path } = target;
    const targets = [target];
    if (password) {
      await this.#writer.write({ method: "PATCH", path, body: { Password: password }, targets }, signal);
    }
    if (role === undefined) return;
    // A role applies only to an enabled user, so giving one enables the user.
    const body = { RoleId: ROLE_IDS[role], ...(user.enabled ? {} : { Enabled: true }) };
    try {
      let request: WriteRequest = { method: "PATCH", path, body, targets };
      let answer = await this.#writer.attempt(request, signal);
      if (refusesProperty(answer, "RoleId") && this.#isHpe) {
        request = { ...request, body: this.#hpePart({ role }) };
        answer = await this.#writer.attempt(request, signal);
      }
      // iDRAC accepts neither role nor Enabled without a password.
      if (password && refusesProperty(answer, "Password")) {
        request = { ...request, body: { ...Object(request.body), Password: password } };
        answer = await this.#writer.attempt(request, signal);
      }
      if (answer.status >= 300) throw this.#system.service.refusal(answer, request);
    } catch (thrown) {
      throw password ? new HalfDone(thrown) : thrown;
    }
  }

  async remove(user: BmcUser, signal: AbortSignal): Promise<void> {
    await sendToTarget(async (again) => {
      const found = again ? await this.#findNamed(user, signal) : user;
      // A user who is already gone is the wanted result.
      if (found) await this.#remove(found, signal);
    });
  }

  async #remove(user: BmcUser, signal: AbortSignal): Promise<void> {
    const target = this.#targetOf(user);
    const { path } = target;
    if (this.#system.behaviour.accounts === "slots") {
      await this.#clearSlot(target, signal);
      return;
    }
    const request = { method: "DELETE", path, targets: [target] } as const;
    const answer = await this.#writer.attempt(request, signal);
    // A user who is already gone is the wanted result.
    if (answer.status < 300 || answer.status === 404 || answer.status === 410) return;
    const refused = this.#system.service.refusal(answer, request);
    if (refused.class !== "unsupported") throw refused;
    // A refused request may have been carried out.
    if (!(await this.#system.service.find(path, Account, signal))) return;
    await this.#clearSlot(target, signal);
  }

  async #findNamed({ name }: BmcUser, signal: AbortSignal): Promise<BmcUser | undefined> {
    return findUser(await this.list(signal), name);
  }

  async #findAgain(user: BmcUser, signal: AbortSignal): Promise<BmcUser> {
    const found = await this.#findNamed(user, signal);
    if (found) return found;
    throw new TargetMoved(`user ${user.name}`, user.id, "another user or none");
  }

  #targetOf(user: BmcUser): Target {
    return { what: `user ${user.name}`, path: this.#pathOf(user), identity: { UserName: user.name } };
  }

  /** Checks a password by a login as the user, which requires an enabled user. */
  async tryPassword(user: BmcUser, password: Secret, signal: AbortSignal): Promise<PasswordTrial> {
    if (!user.enabled) return "unknown";
    return await this.#trial.run({ username: user.name, password }, signal);
  }

  /**
   * Creates an account. Resolves to undefined if the BMC accepted it, and to the refusal if it does not create accounts in
   * this way; throws other refusals.
   */
  async #post(user: NewUser, signal: AbortSignal): Promise<BmcError | undefined> {
    const { service } = this.#system;
    const body = { UserName: user.name, Password: user.password, RoleId: ROLE_IDS[user.role] };
    const path = this.#collection ?? ACCOUNTS;
    let request: WriteRequest = { method: "POST", path, body: { ...body, Enabled: true } };
    let answer = await this.#writer.attempt(request, signal);
    if (answer.status === 404 && this.#collection === undefined) {
      await this.#accounts(signal);
      request = { ...request, path: this.#collection ?? path };
      // The existing collection may have accepted the account anyway.
      if (request.path !== path) answer = await this.#writer.attempt(request, signal);
    }
    // New accounts are enabled by default, and some BMCs do not accept the property.
    if (refusesProperty(answer, "Enabled")) {
      request = { ...request, body };
      answer = await this.#writer.attempt(request, signal);
    }
    if (refusesProperty(answer, "RoleId") && this.#isHpe) {
      const { RoleId: _, ...rest } = body;
      request = { ...request, body: { ...rest, ...this.#hpePart(user) } };
      answer = await this.#writer.attempt(request, signal);
    }
    if (answer.status < 300) return undefined;
    const refused = service.refusal(answer, request);
    if (!NOT_ALLOWED.includes(answer.status)) throw refused;
    return refused;
  }

  get #isHpe(): boolean {
    const { oem, manufacturer } = this.#system.identity;
    return oem.includes("Hp") || oem.includes("Hpe") || /^hpe?\b/i.test(manufacturer);
  }

  /** The replacement of a role in an account of iLO 4. */
  #hpePart({ name, role }: { readonly name?: string; readonly role: UserRole }) {
    const all = HPE_PRIVILEGES.administrator;
    const given = HPE_PRIVILEGES[role];
    const Privileges = Object.fromEntries(all.map((privilege) => [privilege, given.includes(privilege)]));
    const part = { ...defined({ LoginName: name }), Privileges };
    return { Oem: this.#system.identity.oem.includes("Hpe") ? { Hpe: part } : { Hp: part } };
  }

  async #fillSlot({ name, password, role }: NewUser, signal: AbortSignal): Promise<void> {
    const accounts = await this.#accounts(signal);
    // The first of 16 slots is IPMI's anonymous user (IPMI 2.0 section 22.26), which accepts no name.
    const slots = accounts.filter(
      ({ path, value }) => isFree(value) && (value.Id ?? path.split("/").at(-1)) !== "1",
    );
    if (slots.length === 0) {
      const reason = accounts.length > 0 ? "all its accounts are taken" : "it has none";
      throw new BmcError("unsupported", `the BMC takes no new account: ${reason}`);
    }
    const body = { UserName: name, Password: password, RoleId: ROLE_IDS[role], Enabled: true };
    let first: BmcError | undefined;
    for (const { path, etag } of slots.slice(0, MOST_SLOTS)) {
      // Another program may have filled the slot meanwhile.
      const identify = (now: unknown) => ({ UserName: identityIn(now).UserName ?? FREE });
      const targets = [{ what: "a free account", path, identity: { UserName: FREE }, identify }];
      const request = { method: "PATCH", path, body, etag, targets } as const;
      const answer = await this.#writer.attempt(request, signal);
      if (answer.status < 300) return;
      const refused = this.#system.service.refusal(answer, request);
      first ??= refused;
      // A request that is refused for its content is refused in every slot.
      const isAbout = Object.keys(body).some((property) => namesProperty(readRefusal(answer), property));
      const isOther = refused.class === "bmc" || refused.class === "unsupported";
      if (isAbout || !isOther || refused.uncertain) throw refused;
    }
    throw first;
  }

  /** Disables a slot and clears its name together; if that is refused, disables it first. */
  async #clearSlot(target: Target, signal: AbortSignal): Promise<void> {
    const { path } = target;
    const body = { UserName: "", Enabled: false };
    const request = { method: "PATCH", path, body, targets: [target] } as const;
    const answer = await this.#writer.attempt(request, signal);
    if (answer.status < 300) return;
    const refused = this.#system.service.refusal(answer, request);
    const mayBeSplit = [400, 422].includes(answer.status) && refused.class !== "busy" && !refused.uncertain;
    if (!mayBeSplit) throw refused;
    for (const part of [{ Enabled: false }, { UserName: "" }]) {
      await this.#writer.write({ method: "PATCH", path, body: part, targets: [target] }, signal);
    }
  }

  /** Lists the accounts. Without `unread`, an account that cannot be read throws. */
  async #accounts(
    signal: AbortSignal,
    unread?: (unread: Unread) => void,
  ): Promise<readonly Resource<Account>[]> {
    const { service } = this.#system;
    const known = await this.#readAccounts(this.#collection ?? ACCOUNTS, signal, unread);
    if (known) return known;
    const { value: root } = await this.#members.root(signal);
    const servicePath = service.localPath(root.AccountService?.["@odata.id"]) ?? SERVICE;
    const found = await service.find(servicePath, AccountService, signal);
    const path = service.localPath(found?.value.Accounts?.["@odata.id"]);
    const accounts = path === undefined ? undefined : await this.#readAccounts(path, signal, unread);
    if (!accounts) throw new BmcError("unsupported", "the BMC offers no accounts");
    this.#collection = path;
    return accounts;
  }

  /** Reads the accounts; if the password must be changed first, only the one account that the BMC shows. */
  async #readAccounts(
    path: string,
    signal: AbortSignal,
    unread: ((unread: Unread) => void) | undefined,
  ): Promise<readonly Resource<Account>[] | undefined> {
    const { service } = this.#system;
    const limits = unread && { members: MOST_ACCOUNTS, requests: { left: MOST_REQUESTS }, unread };
    try {
      return await this.#members.read(path, Account, signal, limits);
    } catch (thrown) {
      const own = service.accountToChange;
      const account = own === undefined ? undefined : await service.find(own, Account, signal);
      if (!account) throw thrown;
      unread?.({ name: path, reason: "the BMC shows no other account until the password is changed" });
      return [account];
    }
  }

  #pathOf({ id, name }: BmcUser): string {
    const path = this.#system.service.localPath(id);
    if (path === undefined) throw new BmcError("internal", `user ${name} has no path on this BMC`);
    return path;
  }
}

/**
 * Whether a slot is free. An account in use may lack its name, so a free one must be not enabled, or disabled if it shows no
 * name at all.
 */
function isFree({ UserName: name, Enabled: enabled }: Account): boolean {
  if (name?.trim()) return false;
  return name === undefined ? enabled === false : enabled !== true;
}

function refusesProperty(answer: HttpAnswer, name: string): boolean {
  return answer.status === 400 && namesProperty(readRefusal(answer), name);
}

/** The role with exactly these privileges. */
function hpeRole(privileges: z.infer<typeof Privileges>): BmcUser["role"] {
  const has = Object.keys(privileges).filter((name) => privileges[name] === true);
  if (has.length === 0) return "none";
  const isExactly = (role: UserRole) => {
    const given = HPE_PRIVILEGES[role];
    return given.length === has.length && given.every((name) => has.includes(name));
  };
  return USER_ROLES.find(isExactly) ?? "unknown";
}

function bmcUser({ path, value }: Resource<Account>): BmcUser | undefined {
  const name = value.UserName?.trim();
  if (!name) return undefined;
  const privileges = value.Oem?.Hp?.Privileges ?? value.Oem?.Hpe?.Privileges;
  const ownRole = privileges && value.RoleId === undefined ? hpeRole(privileges) : undefined;
  const role = ownRole ?? ROLES[value.RoleId?.replace(/[\s_-]/g, "").toLowerCase() ?? ""] ?? "unknown";
  // A redirect may have led to the same path with a slash.
  return { id: path.replace(/\/$/, ""), name, role, enabled: value.Enabled ?? true };
}
