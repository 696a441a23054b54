import { BmcError } from "../../shared/contract/bmc-error.ts";
import { absoluteEntry } from "./absolute-entry.ts";
import { connectEntry, entryLockKey } from "./connect-entry.ts";
import type { DirectMachine } from "./inventory.ts";
import { MachineEntry } from "./inventory-schema.ts";
import { mergeDefaults } from "./merge-defaults.ts";

/** The defaults of an inventory file for all machines. */
export interface EntryDefaults {
  /** The map `defaults` of the file, unparsed. */
  readonly defaults: unknown;
  /** Absolute path to which relative paths refer. */
  readonly folder: string;
}

/**
 * A BMC that is given by its address. It has the options of the inventory's defaults, such as the verification of
 * certificates, but not their credentials. Throws a `BmcError` of class `usage` for text that is not an address.
 */
export function directMachine(host: string, given?: EntryDefaults): DirectMachine {
  const {
    rpc: _rpc,
    homeassistant: _homeassistant,
    ironic: _ironic,
    credentials: _credentials,
    labels: _labels,
    paused: _paused,
    ...defaults
  } = mapOf(given?.defaults);
  // The schema requires these placeholders, but nothing reads them.
  const credentials = { username: "unused", passwordEnv: "UNUSED" };
  const parsed = MachineEntry.safeParse(mergeDefaults(defaults, { name: "direct", host, credentials }));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new BmcError("usage", `${issue?.path.join(".") || "host"} ${issue?.message}`);
  }
  const entry = absoluteEntry(parsed.data, given?.folder ?? "/");
  return {
    lockKey: entryLockKey(entry),
    async connect({ username, password }, { commands, signal }) {
      const secrets = { username, password: password.reveal() };
      const { machine: _machine, ...connection } = await connectEntry(entry, secrets, {
        env: {},
        commands,
        signal,
      });
      return connection;
    },
  };
}

function mapOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}
