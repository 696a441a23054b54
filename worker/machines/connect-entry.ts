import { BmcError } from "../../shared/contract/bmc-error.ts";
import { Connection, providersOf } from "../../shared/contract/connection.ts";
import { type readCredentials, rpcOptions } from "./credentials.ts";
import type { MachineEntry } from "./inventory-schema.ts";
import { connectionLockKey } from "./lock-key.ts";
import { readBundle, type SecretReading } from "./secret-source.ts";

type EntryCredentials = Partial<Awaited<ReturnType<typeof readCredentials>>>;

/** Builds the connection of an entry. Throws a `BmcError` of class `usage`. */
export async function connectEntry(
  entry: MachineEntry,
  given: EntryCredentials,
  reading: SecretReading,
): Promise<Connection> {
  const {
    name,
    credentials: _places,
    connectTimeout,
    requestTimeout,
    headStart,
    tls,
    desired: _desired,
    labels: _labels,
    paused: _paused,
    ...others
  } = entry;
  const { ipmi, ipmitool, rpc, homeassistant, ...same } = others;
  const { caFile, ...tlsOptions } = tls;
  const { kgFile: _ipmiKgFile, kgEnv: _ipmiKgEnv, ...ipmiOptions } = ipmi;
  const { kgFile: _ipmitoolKgFile, kgEnv: _ipmitoolKgEnv, ...ipmitoolOptions } = ipmitool;
  const { powerOperationDelay, ...homeAssistantOptions } = homeassistant ?? {};
  const { username, password, ipmiKg, ipmitoolKg } = given;
  // The schema treats undefined keys as absent and applies its defaults.
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

export function entryLockKey(entry: MachineEntry): string {
  return connectionLockKey(entry, providersOf(entry));
}
