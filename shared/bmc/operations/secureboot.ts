import { BmcError } from "../../contract/bmc-error.ts";
import { neverAborted } from "../../never-aborted.ts";
import { type Access, defineOperations, type Patience, type Plan, type Run } from "./access.ts";
import { ok } from "./finding.ts";
import { changeSetting, sendOnce } from "./read-back.ts";
import { type SecureBootDatabase, titleOf } from "./secure-boot-key.ts";

/** UEFI Secure Boot of a machine; a field that the BMC does not report is absent. */
export interface SecureBootState {
  /** Whether it is on from the next boot. */
  readonly enabled: boolean;
  /** Whether the last boot used it. */
  readonly active?: boolean;
  /** In setup mode there is no platform key, and nothing is enforced (UEFI 2.10 section 32.3). */
  readonly mode?: SecureBootMode;
}

/** Modes of UEFI Secure Boot. */
export type SecureBootMode = "setup" | "user" | "audit" | "deployed";

/** `default` restores the vendor's keys, `delete-all` deletes every key, `delete-pk` only the platform key. */
export type SecureBootKeys = "default" | "delete-all" | "delete-pk";

export interface SecureBootDriver {
  read(signal: AbortSignal): Promise<SecureBootState>;
  plan(enabled: boolean, signal: AbortSignal): Promise<string>;
  write(enabled: boolean, signal: AbortSignal): Promise<void>;
  /** Plans a reset of the keys of one database, or of all. */
  planKeys(
    keys: SecureBootKeys,
    database: SecureBootDatabase | undefined,
    signal: AbortSignal,
  ): Promise<string>;
  resetKeys(
    keys: SecureBootKeys,
    database: SecureBootDatabase | undefined,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Result of setting Secure Boot. */
export interface SecureBootReport {
  /** The state before the change. */
  readonly before: SecureBootState;
  /** The state as read back. */
  readonly after: SecureBootState;
  /** Whether anything was sent. */
  readonly changed: boolean;
  /** How it went, in one line for people. */
  readonly summary: string;
}

type SecureBootDrivers = { readonly secureboot: SecureBootDriver };

export const secureBootOperations = defineOperations({
  title: "Secure Boot",
  methods: (run: Run<SecureBootDrivers>) => ({
    /** Reads the state of UEFI Secure Boot. */
    getSecureBoot: (signal: AbortSignal = neverAborted()): Promise<SecureBootState> =>
      run(signal, (access) => portOf(access, signal).read()),

    /** Switches Secure Boot on or off from the next boot, and reads it back. */
    setSecureBoot: (enabled: boolean, signal: AbortSignal = neverAborted()): Promise<SecureBootReport> =>
      run(signal, (access) => setSecureBoot(portOf(access, signal), enabled)),

    /** What `setSecureBoot` would send. */
    planSecureBoot: (
      enabled: boolean,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<SecureBootState>> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        const before = await port.read();
        return { before, steps: before.enabled === enabled ? [] : [await port.plan(enabled)] };
      }),

    /** Resets or deletes the keys of Secure Boot, of one database or of all, once. Takes effect at the next boot. */
    resetSecureBootKeys: (
      keys: SecureBootKeys,
      database: SecureBootDatabase | undefined,
      signal: AbortSignal = neverAborted(),
    ): Promise<SecureBootReport> =>
      run(signal, (access) => resetKeys(portOf(access, signal), keys, database)),

    /** What `resetSecureBootKeys` would send. */
    planSecureBootKeys: (
      keys: SecureBootKeys,
      database: SecureBootDatabase | undefined,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<SecureBootState>> =>
      run(signal, async (access) => {
        const port = portOf(access, signal);
        return { before: await port.read(), steps: [await port.planKeys(keys, database)] };
      }),
  }),
  check: async (access, signal) => ok(describeSecureBoot(await portOf(access, signal).read())),
});

/** Secure Boot of one machine with retries in place; what the operations need and no more. */
type SecureBootPort = ReturnType<typeof portOf>;

function portOf({ read, write, insist, sleep }: Access<SecureBootDrivers>, signal: AbortSignal) {
  return {
    read: () => read(({ secureboot }) => secureboot.read(signal)),
    plan: (enabled: boolean) => read(({ secureboot }) => secureboot.plan(enabled, signal)),
    write: (enabled: boolean, patience?: Patience) =>
      write(({ secureboot }) => secureboot.write(enabled, signal), patience),
    planKeys: (keys: SecureBootKeys, database: SecureBootDatabase | undefined) =>
      read(({ secureboot }) => secureboot.planKeys(keys, database, signal)),
    resetKeys: (keys: SecureBootKeys, database: SecureBootDatabase | undefined) =>
      write(({ secureboot }) => secureboot.resetKeys(keys, database, signal)),
    insist,
    sleep,
  };
}

async function setSecureBoot(port: SecureBootPort, enabled: boolean): Promise<SecureBootReport> {
  const change = await changeSetting(
    { ...port, write: (patience) => port.write(enabled, patience) },
    {
      asked: `Secure Boot ${enabled ? "on" : "off"}`,
      isSet: (state) => state.enabled === enabled,
      describe: describeSecureBoot,
      check: ({ mode }) => {
        if (!enabled || mode !== "setup") return;
        const text = "Secure Boot has no platform key (setup mode): reset its keys to the default first";
        throw new BmcError("state", text);
      },
    },
  );
  return { ...change, summary: `${change.changed ? "" : "already "}${describeSecureBoot(change.after)}` };
}

/** Sends a reset of keys. The result cannot be read back, because the firmware changes the keys at the next boot. */
async function resetKeys(
  port: SecureBootPort,
  keys: SecureBootKeys,
  database: SecureBootDatabase | undefined,
): Promise<SecureBootReport> {
  const before = await port.read();
  await sendOnce(() => port.resetKeys(keys, database), "the keys may have been reset");
  const after = await port.read();
  const where = database === undefined ? "" : ` of ${titleOf(database)}`;
  const summary = `${TITLES[keys]}${where} accepted, in effect after the next boot`;
  return { before, after, changed: true, summary };
}

const TITLES: Readonly<Record<SecureBootKeys, string>> = {
  default: "reset of the Secure Boot keys to the default",
  "delete-all": "deletion of all Secure Boot keys",
  "delete-pk": "deletion of the platform key",
};

/** For people: `Secure Boot on`, `Secure Boot off after the next boot (user mode)`. */
export function describeSecureBoot({ enabled, active, mode }: SecureBootState): string {
  const pending = active !== undefined && active !== enabled ? " after the next boot" : "";
  return `Secure Boot ${enabled ? "on" : "off"}${pending}${mode ? ` (${mode} mode)` : ""}`;
}
