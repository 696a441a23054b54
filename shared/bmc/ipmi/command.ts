import type { BmcError } from "../errors.ts";
import { PRIVILEGE_LEVELS, type Privilege } from "./open-session.ts";

export const NetFn = { chassis: 0x00, app: 0x06 } as const;

/** One IPMI command, and what the session must know to carry it out well. */
export interface Command {
  /** As the specification names it, for messages. */
  readonly name: string;
  readonly netFn: number;
  readonly command: number;
  readonly data: Uint8Array;
  /** The level a session needs for it (IPMI 2.0 appendix G). */
  readonly needs: "user" | "operator";
  /**
   * What sending it a second time does: nothing new to read or to set, but `once` would do something again,
   * so its packet is never repeated.
   */
  readonly effect: "read" | "set" | "once";
  /** Meanings of command-specific completion codes (0x80 to 0xBE). */
  readonly refusals?: Readonly<Record<number, Refusal>>;
}

export interface Refusal {
  readonly class: BmcError["class"];
  readonly reason: string;
}

/** Set Session Privilege Level (IPMI 2.0 section 22.18). */
export function setSessionPrivilege(privilege: Privilege): Command {
  return {
    name: "Set Session Privilege Level",
    netFn: NetFn.app,
    command: 0x3b,
    data: Uint8Array.of(PRIVILEGE_LEVELS[privilege]),
    needs: "user",
    effect: "set",
    refusals: {
      128: { class: "auth", reason: `the user has no ${privilege} level` },
      129: { class: "auth", reason: `${privilege} exceeds what the user or the channel is allowed` },
      130: { class: "auth", reason: `user-level authentication does not allow ${privilege}` },
    },
  };
}

/** Close Session (section 22.19). */
export function closeSession(bmcId: number): Command {
  const data = Buffer.alloc(4);
  data.writeUInt32LE(bmcId);
  return { name: "Close Session", netFn: NetFn.app, command: 0x3c, data, needs: "user", effect: "set" };
}

/** Get Device ID (section 20.1). */
export const GET_DEVICE_ID: Command = {
  name: "Get Device ID",
  netFn: NetFn.app,
  command: 0x01,
  data: new Uint8Array(),
  needs: "user",
  effect: "read",
};

/** The manufacturer's IANA enterprise number out of a Get Device ID answer; undefined when it is short. */
export function parseManufacturer(data: Buffer): number | undefined {
  return data.length >= 9 ? data.readUIntLE(6, 3) & 0x0f_ff_ff : undefined;
}
