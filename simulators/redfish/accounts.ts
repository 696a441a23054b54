import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import { type Answer, methodNotAllowed, noContent, notFound, ok, refusal } from "./answer.ts";
import { checkIfMatch, withTag } from "./etag.ts";
import type { RedfishProfile } from "./profiles.ts";
import { collection, type ResourceRequest, type ResourceService } from "./resource-service.ts";
import { resource } from "./schema-types.ts";

const SERVICE = "/redfish/v1/AccountService";
const SLOTS = 16;
const SHORTEST_PASSWORD = 8;
/** The predefined roles (DSP0266 section 13.4), and the role of slots without an account. */
const PRIVILEGES: Readonly<Record<string, readonly string[]>> = {
  Administrator: ["Login", "ConfigureManager", "ConfigureUsers", "ConfigureComponents", "ConfigureSelf"],
  Operator: ["Login", "ConfigureComponents", "ConfigureSelf"],
  ReadOnly: ["Login", "ConfigureSelf"],
  None: [],
};
const ROLES = Object.keys(PRIVILEGES);

export interface SimulatedAccount {
  name: string;
  password: string;
  role: string;
  enabled: boolean;
  /** The interfaces that the account may use. Defaults to Redfish. */
  types?: readonly string[];
  /** A new password, and the number of refusals before it takes effect. */
  pending?: { readonly password: string; refusals: number } | undefined;
}

const Fields = {
  UserName: z.string().max(16).optional(),
  Password: z.string().optional(),
  RoleId: z.enum(ROLES).optional(),
  AccountTypes: z.array(z.string()).optional(),
  Enabled: z.boolean().optional(),
};
const Patch = z.strictObject(Fields);
const Create = z.strictObject({ ...Fields, UserName: z.string().min(1), Password: z.string() });

/** The path of the account service in the service root. */
export function accountServicePath({ accounts }: RedfishProfile, managerPath: string): string {
  return accounts.below === "manager" ? `${managerPath}/AccountService` : SERVICE;
}

/** How some BMCs treat passwords. Tests switch this on. */
export interface PasswordHabits {
  /** Whether a password that an account already has is refused, as by the reuse rules of Lenovo and others. */
  refusesReuse?: boolean;
  /** The number of logins that are refused before a new password takes effect. */
  refusedLogins?: number;
  /** Called when a password was changed, because some BMCs then end every session. */
  changed?: () => void;
}

/** The BMC's accounts: a collection that grows, or a fixed number of slots. */
export class Accounts implements ResourceService {
  readonly path: string;
  readonly #servicePath: string;
  readonly habits: PasswordHabits = {};
  readonly #profile: RedfishProfile;
  readonly #accounts = new Map<string, SimulatedAccount>();
  readonly #roles: string;
  #made = 0;

  constructor(username: string, password: string, managerPath: string, profile: RedfishProfile) {
    this.#servicePath = accountServicePath(profile, managerPath);
    this.path = profile.accounts.below === "manager" ? `${managerPath}/Accounts` : `${SERVICE}/Accounts`;
    this.#roles = this.path.replace(/Accounts$/, "Roles");
    this.#profile = profile;
    const admin = { name: username, password, role: "Administrator", enabled: true };
    if (profile.accounts.kind === "collection") this.#accounts.set(String(++this.#made), admin);
    else {
      for (let id = 1; id <= SLOTS; id++) {
        this.#accounts.set(
          String(id),
          id === 2 ? admin : { name: "", password: "", role: "None", enabled: false },
        );
      }
    }
  }

  /** The accounts that have a name. */
  get all(): readonly SimulatedAccount[] {
    return [...this.#accounts.values()].filter(({ name }) => name !== "");
  }

  /** Adds an account to the collection or the first empty slot, as an operator would. */
  add(account: SimulatedAccount): void {
    const slot = [...this.#accounts].find(([id, { name }]) => id !== "1" && name === "")?.[0];
    this.#accounts.set(slot ?? String(++this.#made), { ...account });
  }

  find(name: string): SimulatedAccount | undefined {
    return this.all.find((account) => account.name === name);
  }

  accepts(name: string, password: string): boolean {
    const account = this.find(name);
    if (account?.enabled !== true) return false;
    const { pending } = account;
    if (pending && pending.password === password && pending.refusals-- <= 0) {
      account.password = pending.password;
      account.pending = undefined;
      return true;
    }
    return account.password === password;
  }

  answer({ method, path, body, ifMatch }: ResourceRequest): Answer | undefined {
    if (path === this.#servicePath && method === "GET") {
      const links = { Accounts: { "@odata.id": this.path }, Roles: { "@odata.id": this.#roles } };
      return ok(resource(path, "AccountService", { Name: "Account Service", ...links }));
    }
    if (path === this.#roles || path.startsWith(`${this.#roles}/`)) return this.#role(method, path);
    if (path !== this.path && !path.startsWith(`${this.path}/`)) return undefined;
    const fixed = this.#profile.accounts.kind === "slots";
    if (path === this.path) {
      const members = [...this.#accounts.keys()].map((id) => `${this.path}/${id}`);
      if (method === "GET") return ok(collection(path, "ManagerAccount", members));
      return method === "POST" && !fixed ? this.#create(body) : methodNotAllowed(method);
    }
    const id = path.slice(this.path.length + 1);
    const account = this.#accounts.get(id);
    if (!account) return notFound(path);
    const current = this.#resource(path, id, account);
    if (method === "GET") return withTag(current, this.#profile);
    if (method === "PATCH") {
      return checkIfMatch(ifMatch, current, this.#profile) ?? this.#change(id, account, body);
    }
    if (method !== "DELETE" || fixed) return methodNotAllowed(method);
    this.#accounts.delete(id);
    return noContent;
  }

  #resource(path: string, id: string, account: SimulatedAccount): Record<string, unknown> {
    return {
      "@odata.id": path,
      "@odata.type": "#ManagerAccount.v1_4_0.ManagerAccount",
      Id: id,
      Name: "User Account",
      UserName: account.name,
      Password: null,
      RoleId: account.role,
      // Required since version 1.4.
      AccountTypes: account.types ?? ["Redfish"],
      Enabled: account.enabled,
      Locked: false,
      Links: { Role: { "@odata.id": `${this.#roles}/${account.role}` } },
    };
  }

  #role(method: string, path: string): Answer {
    if (method !== "GET") return methodNotAllowed(method);
    if (path === this.#roles) {
      return ok(
        collection(
          path,
          "Role",
          ROLES.map((role) => `${path}/${role}`),
        ),
      );
    }
    const role = path.slice(this.#roles.length + 1);
    const AssignedPrivileges = PRIVILEGES[role];
    if (!AssignedPrivileges) return notFound(path);
    const fields = { Name: "User Role", RoleId: role, IsPredefined: true, AssignedPrivileges };
    return ok(resource(path, "Role", fields));
  }

  #create(body: unknown): Answer {
    const parsed = Create.safeParse(body);
    if (!parsed.success) return unknownProperty(parsed.error);
    const { UserName: name, Password: password, RoleId: role, Enabled: enabled, AccountTypes } = parsed.data;
    if (enabled !== undefined && this.#profile.accounts.refusesEnabled) {
      return refusal(400, "Base.1.8.PropertyNotWritable", "The property Enabled is a read only property.");
    }
    if (this.find(name)) return refusal(400, "Base.1.8.ResourceAlreadyExists", `${name} exists already.`);
    const weak = weakPassword(password);
    if (weak) return weak;
    const id = String(++this.#made);
    const account = { name, password, role: role ?? "ReadOnly", enabled: enabled ?? true };
    this.#accounts.set(id, { ...account, ...defined({ types: AccountTypes }) });
    const path = `${this.path}/${id}`;
    return { status: 201, headers: { Location: path }, body: this.#resource(path, id, account) };
  }

  #change(id: string, account: SimulatedAccount, body: unknown): Answer {
    const parsed = Patch.safeParse(body);
    if (!parsed.success) return unknownProperty(parsed.error);
    const { UserName: name, Password: password, RoleId: role, Enabled: enabled, AccountTypes } = parsed.data;
    const reserved = this.#profile.accounts.kind === "slots" && id === "1";
    if (reserved) return refusal(400, "IDRAC.2.8.SWC0251", "The anonymous user cannot be changed.");
    const weak = password === undefined ? undefined : weakPassword(password);
    if (weak) return weak;
    const { refusesReuse = false, refusedLogins: refusals = 0, changed } = this.habits;
    if (refusesReuse && password === account.password) {
      return refusal(400, "Lenovo.1.0.PasswordReuse", "The password was used before.");
    }
    const waits = password !== undefined && refusals > 0;
    this.#accounts.set(id, {
      name: name ?? account.name,
      password: waits ? account.password : (password ?? account.password),
      role: role ?? account.role,
      enabled: enabled ?? account.enabled,
      ...defined({ types: AccountTypes ?? account.types }),
      ...(waits ? { pending: { password, refusals } } : {}),
    });
    if (password !== undefined) changed?.();
    return noContent;
  }
}

/** Refuses a short password with a message of the Base registry, which quotes the password. */
function weakPassword(password: string): Answer | undefined {
  if (password.length >= SHORTEST_PASSWORD) return undefined;
  const message = `The value ${password} for the property Password is of a different format than the property can accept: at least ${SHORTEST_PASSWORD} characters.`;
  return refusal(400, "Base.1.8.PropertyValueFormatError", message);
}

function unknownProperty(error: z.ZodError): Answer {
  const where = error.issues[0]?.path.join("/") ?? "";
  return refusal(400, "Base.1.8.PropertyUnknown", `The property ${where} is not a valid property.`);
}
