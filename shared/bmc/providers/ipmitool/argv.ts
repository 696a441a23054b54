import type { Connection } from "../../../contract/connection.ts";
import type { Command } from "../ipmi/commands/command.ts";
import type { CipherSuiteId } from "../ipmi/session/cipher-suite.ts";
import type { IpmitoolSecrets } from "./secrets.ts";

/** The seconds between copies (`-N`) and the number of copies (`-R`), by the effect of a second copy. */
const RETRANSMISSION: Readonly<Record<Command["effect"], readonly [seconds: number, copies: number]>> = {
  read: [1, 3],
  set: [1, 3],
  // With a single copy, a lost answer never repeats a power cycle.
  once: [5, 1],
};

/** One run of the program: its public arguments, and the data that only the program can read. */
export interface Invocation {
  readonly argv: readonly string[];
  /** The content of /dev/fd/3 and the following descriptors. */
  readonly files: readonly string[];
  /** The program's standard input, if it has one. */
  readonly input?: Uint8Array;
}

const PASSWORD_FILE = "/dev/fd/3";
const COMMAND_FILE = "/dev/fd/4";

/**
 * The run for one command. It uses `raw`, so that all commands and answers are the same as in the ipmi provider. It uses
 * `-v`, because the plain error is the same for a wrong password, a closed port and an unsuitable cipher suite. A command
 * with a secret is read from a file instead (`exec`), and without `-v`, which would print it.
 */
export function ipmitoolInvocation(
  connection: Connection,
  { password, kg }: IpmitoolSecrets,
  suite: CipherSuiteId,
  command: Command,
): Invocation {
  const { host, username = "", ipmitool } = connection;
  const [seconds, copies] = RETRANSMISSION[command.effect];
  const session = [
    ...["-I", "lanplus", "-H", host, "-p", String(ipmitool.port), "-U", username, "-f", PASSWORD_FILE],
    ...(kg === undefined ? [] : ["-Y"]),
    ...["-N", String(seconds), "-R", String(copies)],
    ...["-L", ipmitool.privilege.toUpperCase(), "-C", String(suite)],
    ...(ipmitool.bridge ? ["-b", String(ipmitool.bridge.channel), "-t", hex(ipmitool.bridge.address)] : []),
  ];
  const raw = ["raw", hex(command.netFn), hex(command.command), ...Array.from(command.data, hex)];
  const input = kg === undefined ? {} : { input: Buffer.concat([kg, Buffer.from("\n")]) };
  const passwordFile = `${password}\n`;
  return command.secret
    ? { argv: [...session, "exec", COMMAND_FILE], files: [passwordFile, `${raw.join(" ")}\n`], ...input }
    : { argv: [...session, "-v", ...raw], files: [passwordFile], ...input };
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0")}`;
}
