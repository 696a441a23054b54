import type { BmcError } from "../../../../contract/bmc-error.ts";

/** Session privilege levels (IPMI 2.0 table 13-17, "requested maximum privilege"). */
export const PRIVILEGE_LEVELS = { user: 2, operator: 3, administrator: 4 } as const;
export type Privilege = keyof typeof PRIVILEGE_LEVELS;

/** Network functions of requests (IPMI 2.0 table 5-1). */
export const NetFn = {
  chassis: 0x00,
  sensor: 0x04,
  app: 0x06,
  storage: 0x0a,
  transport: 0x0c,
  group: 0x2c,
} as const;

/** One IPMI command, and what the session must know to carry it out well. */
export interface Command {
  /** The command's name in the specification, for messages. */
  readonly name: string;
  readonly netFn: number;
  readonly command: number;
  readonly data: Uint8Array;
  /** The level a session needs for it (IPMI 2.0 appendix G). */
  readonly needs: Privilege;
  /**
   * What sending it a second time does: nothing new to read or to set, but `once` would do something again,
   * so its packet is never repeated.
   */
  readonly effect: "read" | "set" | "once";
  /** True for what does something each time it is carried out: a refusal is no reason to send it again. */
  readonly acts?: boolean;
  /** True for what only makes way for another command: taken alone, it changes nothing. */
  readonly prepares?: boolean;
  /** True for the reading of one sensor of many, whose unspecified error says that the part is absent. */
  readonly ofPart?: boolean;
  /** True when `data` holds a secret, which must not get into arguments or messages. */
  readonly secret?: boolean;
  /** Meanings of command-specific completion codes (0x80 to 0xBE). */
  readonly refusals?: Readonly<Record<number, Refusal>>;
}

export interface Refusal {
  readonly class: BmcError["class"];
  readonly reason: string;
}

/** A command that reads, without data, for every user; `rest` says what is different. */
export function ipmiCommand(
  name: string,
  netFn: number,
  command: number,
  rest: Partial<Omit<Command, "name" | "netFn" | "command">> = {},
): Command {
  return { name, netFn, command, data: new Uint8Array(), needs: "user", effect: "read", ...rest };
}

/** Set Session Privilege Level (IPMI 2.0 section 22.18). */
export function setSessionPrivilege(privilege: Privilege): Command {
  return ipmiCommand("Set Session Privilege Level", NetFn.app, 0x3b, {
    data: Uint8Array.of(PRIVILEGE_LEVELS[privilege]),
    effect: "set",
    refusals: {
      128: { class: "auth", reason: `the user has no ${privilege} level` },
      129: { class: "auth", reason: `${privilege} exceeds what the user or the channel is allowed` },
      130: { class: "auth", reason: `user-level authentication does not allow ${privilege}` },
    },
  });
}

/** Close Session (section 22.19). */
export function closeSession(bmcId: number): Command {
  const data = Buffer.alloc(4);
  data.writeUInt32LE(bmcId);
  return ipmiCommand("Close Session", NetFn.app, 0x3c, { data, effect: "set" });
}
