import { resolve } from "node:path";
import type { Credentials, MachineEntry, SecretPlace } from "./inventory-schema.ts";

/**
 * Makes all paths of an entry absolute, relative to the inventory's folder. In paths and arguments `{machine}` is
 * replaced by the machine's name, so that one default serves all machines.
 */
export function absoluteEntry(entry: MachineEntry, folder: string): MachineEntry {
  const { tls, ipmi, ipmitool, rpc, credentials } = entry;
  const named = (text: string) => text.replaceAll("{machine}", entry.name);
  const path = (text: string | undefined) => (text === undefined ? undefined : resolve(folder, named(text)));
  // A bare name is looked up in PATH, like in a shell; everything else is a path.
  const program = (text: string) => (text.includes("/") ? resolve(folder, named(text)) : named(text));
  const command = (argv: Credentials["command"]): Credentials["command"] =>
    argv && [program(argv[0]), ...argv.slice(1).map(named)];
  const place = (one: SecretPlace): SecretPlace => ({
    ...one,
    file: path(one.file),
    directory: path(one.directory),
    command: command(one.command),
  });
  return {
    ...entry,
    tls: { ...tls, caFile: path(tls.caFile) },
    ipmi: { ...ipmi, kgFile: path(ipmi.kgFile) },
    ipmitool: { ...ipmitool, kgFile: path(ipmitool.kgFile) },
    rpc: rpc && {
      ...rpc,
      signature: {
        ...rpc.signature,
        secrets: {
          sha256: rpc.signature.secrets.sha256?.map(place),
          sha512: rpc.signature.secrets.sha512?.map(place),
        },
      },
    },
    credentials: {
      ...credentials,
      usernameFile: path(credentials.usernameFile),
      passwordFile: path(credentials.passwordFile),
      directory: path(credentials.directory),
      command: command(credentials.command),
    },
  };
}
