import type { Clock } from "../../../../clock.ts";
import type { BmcError } from "../../../../contract/bmc-error.ts";
import { FirstReading } from "../../../http/first-reading.ts";
import {
  activeQuirks,
  type Behaviour,
  behaviourOf,
  type Identity,
  type LearnedQuirk,
} from "../service/behaviour-quirks.ts";
import { System } from "../service/schema.ts";
import type { Resource, Service } from "../service/service.ts";
import { findSystem } from "./discovery.ts";

export interface ManagedSystemOptions {
  readonly service: Service;
  readonly clock: Clock;
  /** What the user said the system is, by path or `Id`. */
  readonly selector: string | undefined;
  /** The system as it was just found, or as a hint remembers it. */
  readonly first: Resource<System>;
  readonly remembered: boolean;
  /** Why the BMC allows no reading, of anything but the user's own account. */
  readonly refused?: BmcError | undefined;
  /** Names of the quirks learned on the make and model in `first`. */
  readonly learned: Iterable<string>;
}

/**
 * The system this session is about: what is known of it, and how its BMC behaves. What a hint remembers is good
 * enough to act on where a wrong guess is refused; it is no reason to refuse anything, and it ends with the first
 * reading.
 */
export class ManagedSystem {
  readonly service: Service;
  readonly clock: Clock;
  readonly #selector: string | undefined;
  readonly #refused: BmcError | undefined;
  readonly #learned: Set<string>;
  #last: Resource<System>;
  #identity: Identity;
  #remembered: boolean;
  /** The reading that the next `read` may use. */
  #unused: FirstReading<Resource<System>> | undefined;

  constructor({ service, clock, selector, first, remembered, refused, learned }: ManagedSystemOptions) {
    this.service = service;
    this.clock = clock;
    this.#selector = selector;
    this.#refused = refused;
    this.#last = first;
    this.#identity = identityOf(first.value);
    this.#learned = new Set(learned);
    this.#remembered = remembered;
    if (!remembered) this.#unused = new FirstReading(first, clock);
  }

  get path(): string {
    return this.#last.path;
  }

  get identity(): Identity {
    return this.#identity;
  }

  /** What was read last, however long ago, or what a hint remembers. */
  get last(): Resource<System> {
    return this.#last;
  }

  /** Whether the BMC allows no reading of it now. */
  get isRefused(): boolean {
    return this.#refused !== undefined;
  }

  /** True until the first reading, when all that is known comes from a hint. */
  get isRemembered(): boolean {
    return this.#remembered;
  }

  get behaviour(): Behaviour {
    return behaviourOf(activeQuirks(this.#identity, this.#learned));
  }

  get learned(): readonly string[] {
    return [...this.#learned];
  }

  /** Reads the system; what was fetched on the way a moment ago is that reading, once. */
  async read(signal: AbortSignal): Promise<Resource<System>> {
    return this.#unused?.take() ?? (await this.#fetch(signal));
  }

  /**
   * Replaces what is only remembered by a reading, which the next `read` may use. False, without a request, when
   * the system was read before: then there is nothing to learn.
   */
  async refresh(signal: AbortSignal): Promise<boolean> {
    if (!this.#remembered) return false;
    this.#unused = new FirstReading(await this.#fetch(signal), this.clock);
    return true;
  }

  /** To be called before a write: nothing read so far may pass for the state afterwards. */
  markChanged(): void {
    this.#unused?.drop();
  }

  /** Keeps what an answer has shown about this BMC. */
  learn(quirk: LearnedQuirk): void {
    if (quirk === "if-match-refused") this.#learned.delete("if-match-required");
    if (quirk === "if-match-required") this.#learned.delete("if-match-refused");
    if (quirk === "mode-required") this.#learned.delete("mode-read-only");
    this.#learned.add(quirk);
  }

  /**
   * MegaRAC drops a write without If-Match and answers success (xcat2/confluent issue 274): the next one carries it. Undefined
   * where that has been so, or there are no tags.
   */
  insist(): (() => void) | undefined {
    const mayHelp = this.behaviour.ifMatch === "on-demand" && this.#last.etag !== undefined;
    if (!mayHelp || this.#learned.has("if-match-refused")) return undefined;
    this.#learned.add("if-match-required");
    return () => this.#learned.delete("if-match-required");
  }

  async #fetch(signal: AbortSignal): Promise<Resource<System>> {
    if (this.#refused) throw this.#refused;
    // A BMC that carries a change out may not list its system for a while: that is no reason to take another one.
    const isSettled = this.service.hasChanged;
    const found = isSettled
      ? await this.service.get(this.path, System, signal)
      : ((await this.service.find(this.path, System, signal)) ??
        // The path is out of date: another firmware, another board, another BMC at this address.
        (await findSystem(this.service, { selector: this.#selector, path: undefined }, signal)));
    const identity = identityOf(found.value);
    const { manufacturer, model } = this.#identity;
    if (identity.manufacturer !== manufacturer || identity.model !== model) this.#learned.clear();
    this.#identity = identity;
    this.#last = found;
    this.#remembered = false;
    return found;
  }
}

function identityOf(system: System): Identity {
  return {
    manufacturer: system.Manufacturer?.trim() ?? "",
    model: system.Model?.trim() ?? "",
    oem: Object.keys(system.Oem ?? {}),
  };
}
