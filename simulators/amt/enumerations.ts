import {
  type Answer,
  endpointReference,
  enumerated,
  envelope,
  type Fields,
  fault,
  instance,
  pulled,
} from "./answers.ts";
import { type Asked, valueIn } from "./request.ts";

/** The number of items per pull: fewer than clients ask for, so that most enumerations take several pulls. */
const MOST_ITEMS = 2;

interface Enumeration {
  readonly resource: string;
  /** The remaining items, serialized. */
  readonly items: string[];
}

/** Enumerations in progress (WS-Enumeration; DSP0226 section 8). */
export class Enumerations {
  readonly #running = new Map<string, Enumeration>();
  #started = 0;

  start({ resource, body }: Asked, instances: readonly Fields[]): Answer {
    const mode = valueIn(body, "EnumerationMode");
    const write = mode === "EnumerateEPR" ? endpointReference : instance;
    const id = (++this.#started).toString(16).toUpperCase().padStart(4, "0");
    const context = `${id}0000-0000-0000-0000-000000000000`;
    this.#running.set(context, { resource, items: instances.map((fields) => write(resource, fields)) });
    return enumerated(context);
  }

  pull({ resource, body }: Asked): Answer {
    const context = valueIn(body, "EnumerationContext");
    const running = this.#running.get(context);
    if (running?.resource !== resource) {
      return fault("InvalidEnumerationContext", "The supplied enumeration context is invalid.");
    }
    // One if the client does not say (WS-Enumeration section 3.2).
    const wanted = Number(valueIn(body, "MaxElements")) || 1;
    const items = running.items.splice(0, Math.min(wanted, MOST_ITEMS));
    const isEnd = running.items.length === 0;
    if (isEnd) this.#running.delete(context);
    return pulled(items, isEnd ? undefined : context);
  }

  release({ body }: Asked): Answer {
    this.#running.delete(valueIn(body, "EnumerationContext"));
    return envelope("");
  }
}
