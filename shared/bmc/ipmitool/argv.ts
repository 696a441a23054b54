import type { Connection } from "../../contract/connection.ts";
import type { CipherSuiteId } from "../ipmi/cipher-suite.ts";
import type { Command } from "../ipmi/command.ts";

/** `-N` seconds between copies and `-R` copies, by what a second copy would do. */
const RETRANSMISSION: Readonly<Record<Command["effect"], readonly [seconds: number, copies: number]>> = {
  read: [1, 3],
  set: [1, 3],
  // With one copy a lost answer never carries a power cycle out twice.
  once: [5, 1],
};

/** One run of the program: what everybody may see, and what only the program gets to read. */
export interface Invocation {
  readonly argv: readonly string[];
  /** For the program's standard input; it has none when absent. */
  readonly input?: string;
}

/**
 * The run for one command, as `raw`, so that all commands and answers are those of the ipmi provider. `-v` is
 * there because the plain error is the same for a wrong password, a closed port and a cipher suite that does
 * not fit. A command that holds a secret is typed into the program's shell instead, and without `-v`, which
 * would print it.
 */
export function ipmitoolInvocation(
  connection: Connection,
  suite: CipherSuiteId,
  command: Command,
): Invocation {
  const { host, username = "", ipmitool } = connection;
  const [seconds, copies] = RETRANSMISSION[command.effect];
  const session = [
    ...["-I", "lanplus", "-H", host, "-p", String(ipmitool.port), "-U", username, "-E"],
    ...(ipmitool.kg === undefined ? [] : ["-K"]),
    ...["-N", String(seconds), "-R", String(copies)],
    ...["-L", ipmitool.privilege.toUpperCase(), "-C", String(suite)],
    ...(ipmitool.bridge ? ["-b", String(ipmitool.bridge.channel), "-t", hex(ipmitool.bridge.address)] : []),
  ];
  const raw = ["raw", hex(command.netFn), hex(command.command), ...Array.from(command.data, hex)];
  if (command.secret) return { argv: [...session, "shell"], input: `${raw.join(" ")}\nexit\n` };
  return { argv: [...session, "-v", ...raw] };
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0")}`;
}
