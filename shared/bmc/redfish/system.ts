import type { Clock } from "../../clock.ts";
import { activeQuirks, type Behaviour, behaviourOf, type Identity, type LearnedQuirk } from "./quirks.ts";
import { System } from "./schema.ts";
import type { Resource, Service } from "./service.ts";

/** How long what `open` fetched still passes for a fresh reading. */
const FRESH_MS = 2_000;

/** The system this session is about: what was last read of it, and how its BMC behaves. */
export class ManagedSystem {
  readonly service: Service;
  readonly clock: Clock;
  readonly path: string;
  readonly identity: Identity;
  readonly #learned: Set<string>;
  #last: Resource<System>;
  /** When the reading that no one has used yet came; undefined once it is used or out of date. */
  #unusedSince: number | undefined;

  constructor(
    service: Service,
    clock: Clock,
    first: Resource<System>,
    learned: (identity: Identity) => Iterable<string>,
  ) {
    this.service = service;
    this.clock = clock;
    this.path = first.path;
    this.#last = first;
    this.#unusedSince = clock.monotonicMs();
    this.identity = {
      manufacturer: first.value.Manufacturer?.trim() ?? "",
      model: first.value.Model?.trim() ?? "",
      oem: Object.keys(first.value.Oem ?? {}),
    };
    this.#learned = new Set(learned(this.identity));
  }

  /** What was read last, however long ago. */
  get last(): Resource<System> {
    return this.#last;
  }

  get behaviour(): Behaviour {
    return behaviourOf(activeQuirks(this.identity, this.#learned));
  }

  get learned(): readonly string[] {
    return [...this.#learned];
  }

  /** Reads the system; right after `open`, once, what `open` fetched is that reading. */
  async read(signal: AbortSignal): Promise<Resource<System>> {
    const since = this.#unusedSince;
    this.#unusedSince = undefined;
    if (since !== undefined && this.clock.monotonicMs() - since <= FRESH_MS) return this.#last;
    this.#last = await this.service.get(this.path, System, signal);
    return this.#last;
  }

  /** To be called before a write: nothing read so far may pass for the state afterwards. */
  markChanged(): void {
    this.#unusedSince = undefined;
  }

  /** Keeps what an answer has shown about this BMC. */
  learn(quirk: LearnedQuirk): void {
    if (quirk === "if-match-refused") this.#learned.delete("if-match-required");
    if (quirk === "if-match-required") this.#learned.delete("if-match-refused");
    this.#learned.add(quirk);
  }
}
