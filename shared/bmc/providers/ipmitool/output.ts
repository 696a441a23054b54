import { BmcError } from "../../../contract/bmc-error.ts";

/** The bytes that `raw` printed: hex pairs over any number of lines; none for an answer without data. */
export function parseRawOutput(stdout: string): Buffer {
  const pairs = stdout.split(/\s+/).filter((word) => word !== "");
  if (pairs.every((pair) => /^[0-9a-f]{2}$/i.test(pair))) return Buffer.from(pairs.join(""), "hex");
  throw new BmcError("protocol", "ipmitool printed invalid output");
}

/** Whether a command got no answer, or another one than success; `exec` may end well all the same. */
export function hasFailed(stderr: string): boolean {
  return stderr.includes("Unable to send RAW command");
}

/** The completion code with which the BMC refused a `raw` command; undefined if stderr has none. */
export function parseRefusal(stderr: string): number | undefined {
  for (const line of stderr.split("\n")) {
    const [, rest] = line.split(/Unable to send RAW command \(/i, 2);
    const code = rest && /\brsp=0x([0-9a-f]{1,2})\)/i.exec(rest)?.[1];
    if (code) return Number.parseInt(code, 16);
  }
  return undefined;
}

/** Lines of `-v` that say nothing about a failure. */
const CHATTER = [
  /^Loading IANA PEN Registry/,
  /^Running Get \w+ /,
  /^Invalid completion code received: Invalid command/,
  /^Discovered IPMB address/,
  /^RAW (REQ|RSP)/,
  /^\s*([0-9a-f]{2}\s*)+$/i,
];

/** What is left of stderr, in one line, for people. `Key: ` is how `-Y` asks for the BMC key. */
export function essenceOf(stderr: string): string {
  return stderr
    .replace(/^Key: /, "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !CHATTER.some((pattern) => pattern.test(line)))
    .map((line) => line.trim())
    .join("; ");
}
