import type { SimulatedMachine } from "../../machine.ts";
import type { BootOptions } from "../boot-options.ts";
import type { SimulatedConsole } from "../console.ts";
import type { EventLog } from "../event-log.ts";
import type { Reply } from "../reply.ts";
import type { SimulatedSdr } from "../sdr-repository.ts";
import type { Sessions, SimulatedSession } from "../sessions.ts";
import type { UserTable } from "../users.ts";

/** What the commands work on. */
export interface Devices {
  readonly machine: SimulatedMachine;
  readonly boot: BootOptions;
  readonly sessions: Sessions;
  readonly users: UserTable;
  readonly log: EventLog;
  readonly sdr: SimulatedSdr;
  readonly fru: Buffer;
  readonly fruPartBytes: number;
  /** Instances of serial over LAN that others have left open. */
  readonly sol: Set<number>;
  readonly console: SimulatedConsole;
  /** False where the serial port is not redirected. */
  readonly hasConsole: boolean;
  readonly guid: Buffer;
  readonly suites: readonly (3 | 17)[];
  /** The list of cipher suites, in place of the suites' own. */
  readonly suiteRecords: Buffer | undefined;
  readonly hasKg: boolean;
  /** IANA enterprise number. */
  readonly manufacturer: number;
  readonly deviceId: Buffer | undefined;
  /** Time of the BMC's clock, seconds since 1970. */
  clock(): number;
  /** The BMC starts again as soon as its answer has left. */
  restart(kind: "cold" | "warm"): void;
}

export interface CommandHandler {
  readonly name: string;
  /** The level it needs; 0 is also answered outside sessions. */
  readonly level: number;
  run(data: Buffer, devices: Devices, session: SimulatedSession | undefined): Reply;
}

/** Handlers by command number. */
export type Commands = Readonly<Record<number, CommandHandler>>;

export const WRONG_LENGTH = 0xc7;
export const INVALID_FIELD = 0xcc;
