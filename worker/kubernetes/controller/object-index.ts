import { keyOf, nameOfKey, type ObjectName } from "../client/kinds.ts";
import type { Change } from "../client/watched-objects.ts";

/** Finds watched objects by a value, such as the name of an object that they refer to. Pass it each change of the watch. */
export class ObjectIndex<T> {
  readonly #valuesOf: (object: T, name: ObjectName) => readonly string[];
  /** Maps each value to the keys of its objects. */
  readonly #objects = new Map<string, Set<string>>();

  /** `valuesOf` returns the values by which an object can be found. */
  constructor(valuesOf: (object: T, name: ObjectName) => readonly string[]) {
    this.#valuesOf = valuesOf;
  }

  change(change: Change<T>): void {
    const { name, before } = change;
    const key = keyOf(name);
    for (const value of before === undefined ? [] : this.#valuesOf(before, name)) {
      const keys = this.#objects.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#objects.delete(value);
    }
    for (const value of change.kind === "gone" ? [] : this.#valuesOf(change.value, name)) {
      this.#objects.set(value, (this.#objects.get(value) ?? new Set()).add(key));
    }
  }

  /** The objects with the value, sorted by name. */
  find(value: string): readonly ObjectName[] {
    return [...(this.#objects.get(value) ?? [])].toSorted().map(nameOfKey);
  }

  /** The number of objects with the value. */
  count(value: string): number {
    return this.#objects.get(value)?.size ?? 0;
  }

  /** All values that at least one object has. */
  values(): IterableIterator<string> {
    return this.#objects.keys();
  }
}
