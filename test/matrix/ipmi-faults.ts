import type { IpmiBmc } from "../../simulators/ipmi/bmc.ts";
import type { Reply } from "../../simulators/ipmi/reply.ts";

/** Faults of an IPMI packet. `before` answers in place of the BMC; `after` once the BMC has carried the command out. */

const HANDSHAKE = /^(Open Session|RAKP1|RAKP3)$/;
/** What is asked without a session: its answers are lost or cut, and nothing else. */
const OUTSIDE = /^(Get Channel Authentication Capabilities|Get Channel Cipher Suites|Presence Ping)$/;
const READS = /^(Get|Read|Reserve|Set Session Privilege Level|Close Session)/;
/** Node busy, invalid command, timeout, wrong length, invalid field, privilege, not now, unspecified. */
const CODES = ["c0", "c1", "c3", "c7", "cc", "d4", "d5", "ff"];
/** No slot, unknown session, role, name, check value, suite (IPMI 2.0 table 13-15). */
const STATUSES = ["01", "02", "09", "0d", "0f", "11"];
/** Longer than a packet is repeated. */
const SILENT_MS = 60_000;

/** Names of the faults that a packet with this message can have. */
export function ipmiFaults(name: string): readonly string[] {
  if (HANDSHAKE.test(name))
    return ["lost-before", "lost-after", "silent", ...STATUSES.map((code) => `status-${code}`)];
  if (OUTSIDE.test(name)) return ["lost-before", "lost-after", "silent"];
  const session = ["lost-before", "lost-after", "silent", "twice", "forgotten"];
  const codes = CODES.map((code) => `code-${code}`);
  if (READS.test(name)) return [...session, ...codes, "empty", "half"];
  const both = codes.flatMap((code) => [`${code}-before`, `${code}-after`]);
  return [...session, "silent-after", ...both, "unsaid", "empty", "half"];
}

/** Counts the packets of a BMC and makes one of them faulty. */
export class IpmiFaults {
  readonly names: string[] = [];
  /** Names of the commands that were carried out and change something. */
  readonly writes: string[] = [];
  hit: string | undefined;

  constructor(bmc: IpmiBmc, fault?: { readonly at: number; readonly name: string }) {
    let isHit = false;
    let silentUntilMs = 0;
    const is = (...kinds: readonly string[]) => isHit && fault !== undefined && kinds.includes(fault.name);
    const code = (when: RegExp) => (isHit && when.exec(fault?.name ?? "")?.[1]) || undefined;
    Object.assign(bmc.faults, {
      ignores: (name: string) => {
        const at = this.names.push(name);
        isHit = at === fault?.at;
        if (isHit) this.hit = name;
        if (is("silent")) silentUntilMs = Date.now() + SILENT_MS;
        if (is("forgotten")) bmc.restart();
        return is("lost-before") || Date.now() < silentUntilMs;
      },
      losesAnswer: () => {
        if (is("silent-after")) silentUntilMs = Date.now() + SILENT_MS;
        return is("lost-after", "silent-after");
      },
      shakes: () => {
        const status = code(/^status-(..)$/);
        return status === undefined ? undefined : Number.parseInt(status, 16);
      },
      refuses: (name: string) => {
        if (is("unsaid")) return 0;
        const own = code(/^code-(..)-before$/) ?? (READS.test(name) ? code(/^code-(..)$/) : undefined);
        return own === undefined ? undefined : Number.parseInt(own, 16);
      },
      overrules: (name: string, reply: Reply): Reply => {
        if (!READS.test(name) && (reply.code ?? 0) === 0) this.writes.push(name);
        const own = code(/^code-(..)-after$/);
        if (own !== undefined) return { code: Number.parseInt(own, 16) };
        const { data = Buffer.alloc(0) } = reply;
        if (is("empty")) return { ...reply, data: Buffer.alloc(0) };
        return is("half") ? { ...reply, data: data.subarray(0, Math.floor(data.length / 2)) } : reply;
      },
      rewrites: (_: string, datagram: Buffer) => (is("twice") ? [datagram, datagram] : [datagram]),
    });
  }
}
