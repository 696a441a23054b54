import { BmcError } from "../../shared/contract/bmc-error.ts";
import { Connection, providersOf } from "../../shared/contract/connection.ts";
import type { BmcAddress } from "../action/machine-facts.ts";
import { bmcAddress } from "./bmc-address.ts";
import { readCredentials, rpcOptions } from "./credentials.ts";
import type { ConnectionReading, Inventory, Machine } from "./inventory.ts";
import { connectionLockKey } from "./lock-key.ts";
import type { Environment } from "./run-secret-command.ts";
import type { MachineEntry } from "./schema.ts";
import { readBundle, type SecretReading } from "./secret-source.ts";

/** The machines of an inventory file. The file is read once; secrets are read for each connection. */
export class FileInventory implements Inventory {
  readonly #entries: ReadonlyMap<string, MachineEntry>;
  readonly #machines: readonly Machine[];
  readonly #env: Environment;

  /** Paths in `entries` are absolute; `env` resolves the variables they name. */
  constructor(entries: readonly MachineEntry[], env: Environment) {
    this.#entries = new Map(entries.map((entry) => [entry.name, entry]));
    this.#machines = entries.map(machineOf);
    this.#env = env;
  }

  machines(): readonly Machine[] {
    return this.#machines;
  }

  find(name: string): Machine | undefined {
    const entry = this.#entries.get(name);
    return entry && machineOf(entry);
  }

  bmcAddress(name: string): BmcAddress | undefined {
    const entry = this.#entries.get(name);
    return entry && bmcAddress(entry, providersOf(entry));
  }

  async resolveConnection(machine: Machine, { signal, commands }: ConnectionReading): Promise<Connection> {
    const entry = this.#entries.get(machine.name);
    if (!entry) throw new BmcError("usage", `there is no machine ${machine.name} in the inventory`);
    try {
      if (entryLockKey(entry) !== machine.lockKey) {
        // The lock is that of the old BMC; another action may be running on this one.
        throw new BmcError("usage", "its BMC in the inventory changed while the action waited");
      }
      return await connect(entry, { env: this.#env, commands, signal });
    } catch (thrown) {
      signal.throwIfAborted();
      throw new BmcError("usage", `machine ${machine.name}: ${BmcError.from(thrown).message}`);
    }
  }
}

async function connect(entry: MachineEntry, reading: SecretReading): Promise<Connection> {
  const { name, credentials: _places, connectTimeout, requestTimeout, headStart, tls, ...others } = entry;
  const { ipmi, ipmitool, rpc, homeassistant, ...same } = others;
  const { caFile, ...tlsOptions } = tls;
  const { kgFile: _ipmiKgFile, kgEnv: _ipmiKgEnv, ...ipmiOptions } = ipmi;
  const { kgFile: _ipmitoolKgFile, kgEnv: _ipmitoolKgEnv, ...ipmitoolOptions } = ipmitool;
  const { powerOperationDelay, ...homeAssistantOptions } = homeassistant ?? {};
  const { username, password, ipmiKg, ipmitoolKg } = await readCredentials(entry, reading);
  // Undefined keys count as absent: the schema's defaults apply.
  const parsed = Connection.safeParse({
    ...same,
    machine: name,
    username,
    password,
    connectTimeoutMs: connectTimeout,
    requestTimeoutMs: requestTimeout,
    headStartMs: headStart,
    tls: {
      ...tlsOptions,
      ca: caFile === undefined ? undefined : await readBundle("caFile", caFile, reading.signal),
    },
    ipmi: { ...ipmiOptions, kg: ipmiKg },
    ipmitool: { ...ipmitoolOptions, kg: ipmitoolKg },
    rpc: rpc && (await rpcOptions(rpc, reading)),
    homeassistant: homeassistant && { ...homeAssistantOptions, powerOperationDelayMs: powerOperationDelay },
  });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new BmcError("usage", `${issue?.path.join(".")} ${issue?.message}`);
}

function machineOf(entry: MachineEntry): Machine {
  return { name: entry.name, lockKey: entryLockKey(entry) };
}

export function entryLockKey(entry: MachineEntry): string {
  return connectionLockKey(entry, providersOf(entry));
}
