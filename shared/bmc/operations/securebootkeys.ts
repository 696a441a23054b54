import { BmcError } from "../../contract/bmc-error.ts";
import { count } from "../../count.ts";
import { defined } from "../../defined.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { writeSetting } from "./read-back.ts";
import {
  describeSecureBootKey,
  hasName,
  isNewKey,
  isSameKey,
  type NewSecureBootKey,
  SECURE_BOOT_DATABASES,
  type SecureBootDatabase,
  type SecureBootKey,
  titleOf,
} from "./secure-boot-key.ts";
import type { SecureBootMode } from "./secureboot.ts";
import { describeUnread, incompleteList, throwIfNoneRead, type Unread } from "./unread.ts";

/** The keys of one or several databases. */
export interface SecureBootKeyList {
  readonly keys: readonly SecureBootKey[];
  /** The keys that the BMC lists but that could not be read. */
  readonly unread?: readonly Unread[];
}

/** Options for changing keys. */
export interface SecureBootKeyOptions {
  /** Send the change also in user or deployed mode, where the firmware may reject keys without a signature. */
  readonly allowUserMode?: boolean;
}

/** The facts that decide whether the firmware accepts new keys. */
export interface SecureBootKeyRules {
  readonly mode?: SecureBootMode;
  /** The BIOS attribute that selects between the vendor's keys and others, on makes that have one. */
  readonly policy?: { readonly attribute: string; readonly value: string; readonly isCustom: boolean };
}

export interface SecureBootKeysDriver {
  /** The databases that the BMC lists. Throws `unsupported` if it lists none. */
  databases(signal: AbortSignal): Promise<readonly SecureBootDatabase[]>;
  rules(signal: AbortSignal): Promise<SecureBootKeyRules>;
  list(database: SecureBootDatabase, signal: AbortSignal): Promise<SecureBootKeyList>;
  planEnroll(database: SecureBootDatabase, key: NewSecureBootKey, signal: AbortSignal): Promise<string>;
  enroll(database: SecureBootDatabase, key: NewSecureBootKey, signal: AbortSignal): Promise<void>;
  planRemove(key: SecureBootKey, signal: AbortSignal): Promise<string>;
  remove(key: SecureBootKey, signal: AbortSignal): Promise<void>;
}

/** Result of enrolling or deleting a key. */
export interface SecureBootKeysReport {
  /** The keys of the database before; absent if not all of them could be read. */
  readonly before?: readonly SecureBootKey[];
  /** The keys of the database as read back; absent if not all of them could be read. */
  readonly after?: readonly SecureBootKey[];
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type KeyDrivers = { readonly securebootkeys: SecureBootKeysDriver };

export const secureBootKeyOperations = defineOperations({
  title: "Secure Boot keys",
  methods: (run: Run<KeyDrivers>) => ({
    /** Lists the keys of these databases, without those that the BMC does not have; of all if none is named. */
    listSecureBootKeys: (
      databases: readonly SecureBootDatabase[],
      signal: AbortSignal = neverAborted(),
    ): Promise<SecureBootKeyList> => run(signal, (access) => listKeys(portOf(access, signal), databases)),

    /** Enrolls a key, and reads back that the database has it. */
    enrollSecureBootKey: (
      database: SecureBootDatabase,
      key: NewSecureBootKey,
      options: SecureBootKeyOptions,
      signal: AbortSignal = neverAborted(),
    ): Promise<SecureBootKeysReport> =>
      run(signal, (access) => enrollKey(portOf(access, signal), database, key, options)),

    /** What `enrollSecureBootKey` would send. */
    planSecureBootKeyEnrollment: (
      database: SecureBootDatabase,
      key: NewSecureBootKey,
      options: SecureBootKeyOptions,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly SecureBootKey[]>> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        const { before, isThere } = await findNewKey(port, database, key);
        if (isThere) return { before, steps: [] };
        checkRules(await port.rules(), options);
        return { before, steps: [await port.planEnroll(database, key)] };
      }),

    /** Deletes the key with this ID or fingerprint, and reads back that it is gone; none is success. */
    deleteSecureBootKey: (
      database: SecureBootDatabase,
      name: string,
      options: SecureBootKeyOptions,
      signal: AbortSignal = neverAborted(),
    ): Promise<SecureBootKeysReport> =>
      run(signal, (access) => deleteKey(portOf(access, signal), database, name, options)),

    /** What `deleteSecureBootKey` would send. */
    planSecureBootKeyDeletion: (
      database: SecureBootDatabase,
      name: string,
      options: SecureBootKeyOptions,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<readonly SecureBootKey[]>> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        const list = await port.list(database);
        const found = findKey(list, database, name);
        if (!found) return { before: list.keys, steps: [] };
        checkRules(await port.rules(), options);
        return { before: list.keys, steps: [await port.planRemove(found)] };
      }),
  }),
  check: async (access, signal) => ok((await portOf(access, signal).databases()).map(titleOf).join(", ")),
});

/** The key databases of one machine with retries in place; what the operations need and no more. */
type KeyPort = ReturnType<typeof portOf>;

function portOf({ read, write, sleep, progress }: Access<KeyDrivers>, signal: AbortSignal) {
  type Name = SecureBootDatabase;
  return {
    databases: () => read(({ securebootkeys }) => securebootkeys.databases(signal)),
    rules: () => read(({ securebootkeys }) => securebootkeys.rules(signal)),
    list: (name: Name) => read(({ securebootkeys }) => securebootkeys.list(name, signal)),
    planEnroll: (name: Name, key: NewSecureBootKey) =>
      read(({ securebootkeys }) => securebootkeys.planEnroll(name, key, signal)),
    enroll: (name: Name, key: NewSecureBootKey, patience?: Patience) =>
      write(({ securebootkeys }) => securebootkeys.enroll(name, key, signal), patience),
    planRemove: (key: SecureBootKey) => read(({ securebootkeys }) => securebootkeys.planRemove(key, signal)),
    remove: (key: SecureBootKey, patience?: Patience) =>
      write(({ securebootkeys }) => securebootkeys.remove(key, signal), patience),
    sleep,
    progress,
  };
}

const AT_BOOT =
  "some BMCs change keys only while the machine boots: boot it, then check with list-secure-boot-keys";

async function listKeys(port: KeyPort, wanted: readonly SecureBootDatabase[]): Promise<SecureBootKeyList> {
  const offered = await port.databases();
  const missing = wanted.filter((name) => !offered.includes(name));
  if (missing.length > 0) {
    const text = `the BMC has no Secure Boot database ${missing.map(titleOf).join(", ")}`;
    throw new BmcError("unsupported", text);
  }
  const keys: SecureBootKey[] = [];
  const unread: Unread[] = [];
  for (const name of wanted.length > 0 ? wanted : offered) {
    const list = await port.list(name);
    keys.push(...list.keys);
    unread.push(...(list.unread ?? []));
  }
  throwIfNoneRead(keys.length, unread, "key");
  return { keys, ...(unread.length > 0 ? { unread } : {}) };
}

async function enrollKey(
  port: KeyPort,
  database: SecureBootDatabase,
  key: NewSecureBootKey,
  options: SecureBootKeyOptions,
): Promise<SecureBootKeysReport> {
  const { list, isThere } = await findNewKey(port, database, key);
  const what = describeSecureBootKey(key);
  if (isThere) {
    const summary = `${titleOf(database)} already has ${what}`;
    return reportOf(list, list, false, summary);
  }
  checkRules(await port.rules(), options);
  port.progress(`enrolling ${what}`);
  const after = await writeSetting(
    {
      read: () => port.list(database),
      write: (patience) => port.enroll(database, key, patience),
      sleep: port.sleep,
    },
    {
      asked: `${what} in ${titleOf(database)}`,
      isSet: ({ keys }) => keys.some((each) => isNewKey(each, key)),
      describe: (list) => `${describeList(database, list)} without it; ${AT_BOOT}`,
    },
  );
  return reportOf(
    list,
    after,
    true,
    `${what} enrolled in ${titleOf(database)}, in effect after the next boot`,
  );
}

function reportOf(
  before: SecureBootKeyList,
  after: SecureBootKeyList,
  changed: boolean,
  summary: string,
): SecureBootKeysReport {
  const whole = ({ keys, unread }: SecureBootKeyList) => (unread ? undefined : keys);
  return {
    ...defined({ before: whole(before), after: whole(after) }),
    changed,
    summary: summary + describeUnread(after.unread, "key"),
  };
}

/** The keys of the database, and whether the new one is among them. Throws `verify` if one that cannot be read may be it. */
async function findNewKey(port: KeyPort, database: SecureBootDatabase, key: NewSecureBootKey) {
  const list = await port.list(database);
  const { keys: before, unread } = list;
  const isThere = before.some((each) => isNewKey(each, key));
  if (!isThere && unread) {
    throw incompleteList(`whether ${titleOf(database)} has the key is not known`, unread);
  }
  return { before, list, isThere };
}

async function deleteKey(
  port: KeyPort,
  database: SecureBootDatabase,
  name: string,
  options: SecureBootKeyOptions,
): Promise<SecureBootKeysReport> {
  const list = await port.list(database);
  const found = findKey(list, database, name);
  if (!found) return reportOf(list, list, false, `${titleOf(database)} has no key ${name}`);
  checkRules(await port.rules(), options);
  const what = describeSecureBootKey(found);
  port.progress(`deleting ${what}`);
  // Compare the content, because IDs may change.
  const numberOf = ({ keys }: SecureBootKeyList) => keys.filter((each) => isSameKey(each, found)).length;
  const most = numberOf(list) - 1;
  const after = await writeSetting(
    { read: () => port.list(database), write: (patience) => port.remove(found, patience), sleep: port.sleep },
    {
      asked: `${titleOf(database)} without ${what}`,
      isSet: (now) => !now.unread && numberOf(now) <= most,
      describe: (now) => `${describeList(database, now)}; ${AT_BOOT}`,
    },
  );
  return reportOf(
    list,
    after,
    true,
    `${what} deleted from ${titleOf(database)}, in effect after the next boot`,
  );
}

/** Finds the key with this ID or fingerprint; undefined if there is none in a database that was read completely. */
function findKey(
  { keys, unread }: SecureBootKeyList,
  database: SecureBootDatabase,
  name: string,
): SecureBootKey | undefined {
  const [found, ...others] = keys.filter((key) => hasName(key, name));
  if (others.length > 0) {
    const all = keys.filter((key) => hasName(key, name)).map(describeSecureBootKey);
    const text = `${titleOf(database)} has ${all.length} keys ${name}: ${all.join(", ")}; use a fingerprint`;
    throw new BmcError("usage", text);
  }
  // A certificate and a signature may have the same ID.
  if (unread && (!found || found.id === name)) {
    const why = found
      ? `${titleOf(database)} may have another key ${name}: use a fingerprint`
      : `no key ${name} among those of ${titleOf(database)} that can be read`;
    throw incompleteList(why, unread);
  }
  return found;
}

/** In user and deployed mode only the holder of the platform key changes databases (UEFI 2.10 section 32.3). */
function checkRules({ mode, policy }: SecureBootKeyRules, { allowUserMode }: SecureBootKeyOptions): void {
  if (policy && !policy.isCustom) {
    const { attribute, value } = policy;
    const text = `the BIOS attribute ${attribute} is ${value}, so that the firmware ignores other keys: set it to custom keys with set-bios and boot the machine first`;
    throw new BmcError("state", text);
  }
  if (policy?.isCustom || allowUserMode || (mode !== "user" && mode !== "deployed")) return;
  const text = `the firmware is in ${mode} mode, where keys need a signature by the platform key: delete that with reset-secure-boot-keys and boot the machine first, or allow it with ALLOW_USER_MODE`;
  throw new BmcError("state", text);
}

function describeList(database: SecureBootDatabase, { keys, unread }: SecureBootKeyList): string {
  return `${titleOf(database)} with ${count(keys.length, "key")}${describeUnread(unread, "key")}`;
}

/** For people: `1 key in PK, 2 in KEK, 4 in db, 0 in dbx`. */
export function describeSecureBootKeys({ keys, unread }: SecureBootKeyList): string {
  const counts = SECURE_BOOT_DATABASES.flatMap((name) => {
    const number = keys.filter(({ database }) => database === name).length;
    return number > 0 ? [`${number} in ${titleOf(name)}`] : [];
  });
  const where = counts.length > 0 ? `: ${counts.join(", ")}` : "";
  return `${count(keys.length, "key")}${where}${describeUnread(unread, "key")}`;
}
