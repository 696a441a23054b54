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

/** One IPMI command with what the session must know to send it. */
export interface Command {
  /** The command's name in the specification, for messages. */
  readonly name: string;
  readonly netFn: number;
  readonly command: number;
  readonly data: Uint8Array;
  /** The privilege level that the command requires (IPMI 2.0 appendix G). */
  readonly needs: Privilege;
  /**
   * The effect of sending it a second time. `read` and `set` are harmless; `once` would repeat an action, so its packet is
   * never repeated.
   */
  readonly effect: "read" | "set" | "once";
  /** Set if the command acts each time it is carried out, so that a refused one must not be sent again. */
  readonly acts?: boolean;
  /** Set if the command only prepares another one. On its own, it changes nothing. */
  readonly prepares?: boolean;
  /** Set for reading one of many sensors. An unspecified error then means that the part is absent. */
  readonly ofPart?: boolean;
  /** Set if `data` contains a secret, which must not get into arguments or messages. */
  readonly secret?: boolean;
  /** Meanings of command-specific completion codes (0x80 to 0xBE). */
  readonly refusals?: Readonly<Record<number, Refusal>>;
}

export interface Refusal {
  readonly class: BmcError["class"];
  readonly reason: string;
}

/** Defines a read command without data, for every user; `rest` overrides this. */
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
