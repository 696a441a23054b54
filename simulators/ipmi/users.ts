import type { Reply } from "./reply.ts";

export type SimulatedPrivilege = "user" | "operator" | "administrator";

export interface SimulatedUser {
  readonly name: string;
  readonly password: string;
  /** The highest level that the user may reach. Defaults to administrator. */
  readonly privilege?: SimulatedPrivilege;
  /** Whether the user may log in. */
  readonly enabled?: boolean;
}

export const LEVELS: Readonly<Record<SimulatedPrivilege, number>> = {
  user: 2,
  operator: 3,
  administrator: 4,
};

const NO_ACCESS = 15;
const NAME_BYTES = 16;

/** One row of the user table. */
export interface UserRow {
  readonly id: number;
  name: string;
  /** The stored password: 20 bytes, padded with zeros. */
  key: Buffer;
  enabled: boolean;
  messaging: boolean;
  level: number;
}

/** Restrictions of some BMCs. */
export interface UserTableQuirks {
  /** Whether empty names are refused, as by older firmware of Dell and Supermicro. */
  readonly keepsNames?: boolean;
  /** Whether Get User Name for a slot without a name answers 0xCC. */
  readonly refusesEmptySlots?: boolean;
}

export interface UserTableOptions extends UserTableQuirks {
  readonly slots: number;
  /** The number of password bytes that are stored. BMCs with IPMI 1.5 user tables store 16. */
  readonly passwordBytes: 16 | 20;
}

/** The user table. IDs start at 1; user 1 has no name and does not change. */
export class UserTable {
  readonly rows: readonly UserRow[];
  readonly #options: UserTableOptions;

  constructor(users: readonly SimulatedUser[], options: UserTableOptions) {
    this.#options = options;
    this.rows = Array.from({ length: options.slots }, (_, index) => ({
      id: index + 1,
      name: "",
      key: Buffer.alloc(20),
      enabled: false,
      messaging: false,
      level: NO_ACCESS,
    }));
    for (const user of users) this.add(user);
  }

  /** Adds a user to the first empty slot, as an operator would. */
  add({ name, password, privilege = "administrator", enabled = true }: SimulatedUser): void {
    const row = this.rows.find((one) => (name === "" ? one.id === 1 : one.id > 1 && one.name === ""));
    if (!row) throw new Error(`the user table has no slot for ${name}`);
    row.name = name;
    row.key = storedKey(password, this.#options.passwordBytes);
    row.enabled = enabled;
    row.messaging = true;
    row.level = LEVELS[privilege];
  }

  /** Returns the user who may log in with this name. */
  find(name: string): UserRow | undefined {
    return this.rows.find(
      (row) => row.name === name && row.enabled && row.messaging && row.level !== NO_ACCESS,
    );
  }

  getAccess(data: Buffer): Reply {
    const row = this.#row(data[1]);
    if (data.length !== 2 || !row) return { code: data.length === 2 ? 0xcc : 0xc7 };
    const enabled = this.rows.filter((one) => one.enabled).length;
    const access = (row.messaging ? 0x30 : 0) | row.level;
    return { data: Buffer.from([this.rows.length, (row.enabled ? 0x40 : 0x80) | enabled, 1, access]) };
  }

  setAccess(data: Buffer): Reply {
    if (data.length !== 3 && data.length !== 4) return { code: 0xc7 };
    const row = this.#row(data[1]);
    if (!row || row.id === 1) return { code: 0xcc };
    const bits = data.readUInt8(0);
    if ((bits & 0x80) > 0) row.messaging = (bits & 0x10) > 0;
    row.level = data.readUInt8(2) & 0x0f;
    return {};
  }

  getName(data: Buffer): Reply {
    if (data.length !== 1) return { code: 0xc7 };
    const row = this.#row(data[0]);
    if (!row || (row.name === "" && this.#options.refusesEmptySlots)) return { code: 0xcc };
    const name = Buffer.alloc(NAME_BYTES);
    name.write(row.name);
    return { data: name };
  }

  setName(data: Buffer): Reply {
    if (data.length !== 1 + NAME_BYTES) return { code: 0xc7 };
    const row = this.#row(data[0]);
    const name = data.subarray(1).toString().replace(/\0.*$/s, "");
    const taken = name !== "" && this.rows.some((one) => one !== row && one.name === name);
    if (!row || row.id === 1 || taken || (name === "" && this.#options.keepsNames)) return { code: 0xcc };
    row.name = name;
    return {};
  }

  setPassword(data: Buffer): Reply {
    if (data.length < 2) return { code: 0xc7 };
    const row = this.#row(data.readUInt8(0) & 0x3f);
    if (!row) return { code: 0xcc };
    const operation = data.readUInt8(1) & 0x03;
    if (operation < 2) {
      row.enabled = operation === 1;
      return {};
    }
    const bytes = (data.readUInt8(0) & 0x80) > 0 ? 20 : 16;
    if (bytes > this.#options.passwordBytes) return { code: 0xcc };
    const password = data.subarray(2);
    if (password.length !== bytes) return { code: 0xc7 };
    const key = Buffer.concat([password, Buffer.alloc(20 - bytes)]);
    if (operation === 3) return row.key.equals(key) ? {} : { code: 0x80 };
    row.key = key;
    return {};
  }

  #row(id: number | undefined): UserRow | undefined {
    return this.rows.find((row) => row.id === (id ?? 0) % 64);
  }
}

/** Returns a password as a BMC stores it, padded with zeros. */
export function storedKey(password: string, passwordBytes: 16 | 20): Buffer {
  const key = Buffer.alloc(20);
  Buffer.from(password).subarray(0, passwordBytes).copy(key);
  return key;
}
