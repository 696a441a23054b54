import type { ActionEvent } from "../../core/action/observer.ts";

/** Tracks which machines have actions in flight, from the events of actions. */
export class BusyMachines {
  /** The keys of actions in flight, by machine. */
  readonly #busy = new Map<string, Set<string>>();

  has(machine: string): boolean {
    return this.#busy.has(machine);
  }

  /** Returns the machine that an action starts or stops using with this event. */
  see(event: ActionEvent): string | undefined {
    const { key } = event.action;
    switch (event.kind) {
      case "taken":
      case "started":
        if (event.machine === undefined) return undefined;
        this.#busy.set(event.machine, (this.#busy.get(event.machine) ?? new Set()).add(key));
        return event.machine;
      case "ended":
        return this.#ended(key) ?? event.machine;
      case "returned":
        return this.#ended(key);
      default:
        return undefined;
    }
  }

  #ended(key: string): string | undefined {
    for (const [machine, keys] of this.#busy) {
      if (!keys.delete(key)) continue;
      if (keys.size === 0) this.#busy.delete(machine);
      return machine;
    }
    return undefined;
  }
}
