import type { MachineRecord } from "./machine-record.ts";

const NOTHING = { inFlight: [], powerChanges: [], failures: [] } as const;

/** The machines that events have named. */
export class MachineRecords {
  readonly #machines = new Map<string, MachineRecord>();

  get size(): number {
    return this.#machines.size;
  }

  get(name: string): MachineRecord | undefined {
    return this.#machines.get(name);
  }

  all(): readonly MachineRecord[] {
    return [...this.#machines.values()];
  }

  set(name: string, change: Partial<MachineRecord>, revision: number): void {
    this.#machines.set(name, { ...this.of(name), ...change, name, revision });
  }

  /** The record, or one without content. */
  of(name: string): Omit<MachineRecord, "revision"> {
    return this.#machines.get(name) ?? { ...NOTHING, name };
  }

  /** Gives the record a new revision, because an action that it refers to has changed. */
  touch(name: string | undefined, revision: number): void {
    if (name !== undefined && this.#machines.has(name)) this.set(name, {}, revision);
  }

  begin(name: string, key: string, revision: number): void {
    const { inFlight } = this.of(name);
    this.set(name, { inFlight: inFlight.includes(key) ? inFlight : [...inFlight, key] }, revision);
  }

  end(name: string, key: string, change: Partial<MachineRecord>, revision: number): void {
    const inFlight = this.of(name).inFlight.filter((other) => other !== key);
    this.set(name, { ...change, inFlight }, revision);
  }

  /** Removes the last action if it is this one. */
  forgetLast(name: string, key: string, revision: number): void {
    const { last, ...rest } = this.of(name);
    if (last !== key) return;
    this.#machines.set(name, { ...rest, revision });
  }

  delete(name: string): void {
    this.#machines.delete(name);
  }
}
