import type { SimulatedMachine } from "../../machine.ts";
import type { BootOptions } from "../boot-options.ts";
import type { SimulatedConsole } from "../console.ts";
import type { EventLog } from "../event-log.ts";
import type { Reply } from "../reply.ts";
import type { SimulatedSdr } from "../sdr-repository.ts";
import type { Sessions, SimulatedSession } from "../sessions.ts";
import type { UserTable } from "../users.ts";

/** The devices on which the commands operate. */
export interface Devices {
  readonly machine: SimulatedMachine;
  readonly boot: BootOptions;
  readonly sessions: Sessions;
  readonly users: UserTable;
  readonly log: EventLog;
  readonly sdr: SimulatedSdr;
  readonly fru: Buffer;
  readonly fruPartBytes: number;
  /** Instances of serial over LAN that other clients left open. */
  readonly sol: Set<number>;
  readonly console: SimulatedConsole;
  /** Whether the serial port is redirected. */
  readonly hasConsole: boolean;
  readonly guid: Buffer;
  readonly suites: readonly (3 | 17)[];
  /** The list of cipher suites, which replaces the one of the actual suites. */
  readonly suiteRecords: Buffer | undefined;
  readonly hasKg: boolean;
  /** The IANA enterprise number. */
  readonly manufacturer: number;
  readonly deviceId: Buffer | undefined;
  /** Returns the time of the BMC's clock in seconds since 1970. */
  clock(): number;
  /** Restarts the BMC as soon as its answer has been sent. */
  restart(kind: "cold" | "warm"): void;
}

export interface CommandHandler {
  readonly name: string;
  /** The required privilege level. Commands with level 0 are also answered outside sessions. */
  readonly level: number;
  run(data: Buffer, devices: Devices, session: SimulatedSession | undefined): Reply;
}

/** The handlers by command number. */
export type Commands = Readonly<Record<number, CommandHandler>>;

export const WRONG_LENGTH = 0xc7;
export const INVALID_FIELD = 0xcc;
