import type { Board } from "../board/board.ts";
import type { MachineRecord } from "../board/machine-record.ts";
import type { ActionRecord } from "../board/shown-action.ts";

/** States of a machine, the most urgent first. A letter and a colour stand for each. */
export const MACHINE_STATES = ["failed", "running", "waiting", "on", "off", "unknown"] as const;
export type MachineState = (typeof MACHINE_STATES)[number];

export const STATE_LETTERS: Readonly<Record<MachineState, string>> = {
  failed: "F",
  running: "R",
  waiting: "W",
  on: "I",
  off: "O",
  unknown: "?",
};

/** A machine of the inventory with what the board knows of it. */
export interface ShownMachine {
  readonly name: string;
  readonly record: MachineRecord | undefined;
  readonly inFlight: readonly ActionRecord[];
  readonly last: ActionRecord | undefined;
  /** The most urgent of its states. */
  readonly state: MachineState;
}

export function shownMachine(name: string, board: Board): ShownMachine {
  const record = board.machine(name);
  const inFlight = (record?.inFlight ?? []).flatMap((key) => board.find(key) ?? []);
  const last = record?.last === undefined ? undefined : board.find(record.last);
  const shown = { name, record, inFlight, last };
  const state = MACHINE_STATES.find((one) => isIn(shown, one)) ?? "unknown";
  return { ...shown, state };
}

/** Whether the machine is in this state, beside others; in any if it is empty. */
export function isIn(
  { record, inFlight, last }: Omit<ShownMachine, "state" | "name">,
  state: string,
): boolean {
  switch (state) {
    case "":
      return true;
    case "failed":
      return last?.phase === "failed";
    case "running":
    case "waiting":
      return inFlight.some(({ phase }) => phase === state);
    default:
      // Power that was never read counts as unknown.
      return (record?.power?.state ?? "unknown") === state;
  }
}
