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

/**
 * The program's arguments for one command, as `raw`, so that all commands and answers are those of the ipmi
 * provider. `-v` is there because the plain error is the same for a wrong password, a closed port and a cipher
 * suite that does not fit. Holds no secret.
 */
export function ipmitoolArguments(
  { host, username = "", ipmitool }: Connection,
  suite: CipherSuiteId,
  command: Command,
): string[] {
  const [seconds, copies] = RETRANSMISSION[command.effect];
  return [
    ...["-I", "lanplus", "-H", host, "-p", String(ipmitool.port), "-U", username, "-E"],
    ...(ipmitool.kg === undefined ? [] : ["-K"]),
    ...["-N", String(seconds), "-R", String(copies)],
    ...["-L", ipmitool.privilege.toUpperCase(), "-C", String(suite), "-v"],
    ...["raw", hex(command.netFn), hex(command.command), ...Array.from(command.data, hex)],
  ];
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, "0")}`;
}
