import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { FirstReading } from "../../../http/first-reading.ts";
import {
  differenceOf,
  identityIn,
  type Identity as TargetIdentity,
  TargetMoved,
} from "../../../operations/identity.ts";
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

/** Services of the whole BMC, which are the same for each of its systems. */
const ABOUT_THE_BMC =
  /^\/redfish\/v1\/(AccountService|CertificateService|EventService|SessionService|UpdateService)(\/|$)/i;

export interface ManagedSystemOptions {
  readonly service: Service;
  readonly clock: Clock;
  /** The user's selection of the system, by path or `Id`. */
  readonly selector: string | undefined;
  /** The system as it was just found, or according to a hint. */
  readonly first: Resource<System>;
  readonly remembered: boolean;
  /** Why the BMC allows reading nothing but the user's own account. */
  readonly refused?: BmcError | undefined;
  /** The identity of the system when it was learned or last changed; empty if it is unknown. */
  readonly known?: TargetIdentity | undefined;
  /** Whether the BMC may list other systems, one of which could take its place. */
  readonly isOneOfSeveral: () => boolean;
  /** Called when the place in a hint has another system, so that the rest of the hint is invalid. */
  readonly onOther: () => void;
  /** Names of the quirks learned for the make and model of `first`. */
  readonly learned: Iterable<string>;
}

/**
 * The system of this session: what is known about it, and the behaviour of its BMC. A hint is sufficient for actions whose
 * wrong guesses are refused. It is never a reason to refuse, and it ends with the first reading.
 */
export class ManagedSystem {
  readonly service: Service;
  readonly clock: Clock;
  readonly #selector: string | undefined;
  readonly #refused: BmcError | undefined;
  readonly #learned: Set<string>;
  readonly #isOneOfSeveral: () => boolean;
  readonly #onOther: () => void;
  #last: Resource<System>;
  /** The identity according to all readings so far. */
  #known: TargetIdentity;
  #identity: Identity;
  #remembered: boolean;
  /** The reading that the next `read` may use. */
  #unused: FirstReading<Resource<System>> | undefined;

  constructor(options: ManagedSystemOptions) {
    const { service, clock, selector, first, remembered, refused, learned } = options;
    this.#isOneOfSeveral = options.isOneOfSeveral;
    this.#onOther = options.onOther;
    this.#known = { ...identityIn(first.value), ...options.known };
    this.service = service;
    this.clock = clock;
    this.#selector = selector;
    this.#refused = refused;
    this.#last = first;
    this.#identity = identityOf(first.value);
    this.#learned = new Set(learned);
    this.#remembered = remembered;
    if (!remembered) this.#unused = new FirstReading(first, clock);
    service.guard((path, signal) => this.#guard(path, signal));
  }

  get path(): string {
    return this.#last.path;
  }

  get identity(): Identity {
    return this.#identity;
  }

  /** The identity, for the report and for the next call. */
  get known(): TargetIdentity {
    return this.#known;
  }

  /** The latest reading, however old, or the hint. */
  get last(): Resource<System> {
    return this.#last;
  }

  /** Whether the BMC allows no reading of the system at present. */
  get isRefused(): boolean {
    return this.#refused !== undefined;
  }

  /** True until the first reading, while everything known comes from a hint. */
  get isRemembered(): boolean {
    return this.#remembered;
  }

  get behaviour(): Behaviour {
    return behaviourOf(activeQuirks(this.#identity, this.#learned));
  }

  get learned(): readonly string[] {
    return [...this.#learned];
  }

  /** Reads the system. A reading that was made a moment ago for another purpose is used once. */
  async read(signal: AbortSignal): Promise<Resource<System>> {
    return this.#unused?.take() ?? (await this.#fetch(signal));
  }

  /**
   * Replaces a hint by a reading, which the next `read` may use. Returns false, without a request, if the system was already
   * read, because there is nothing to learn.
   */
  async refresh(signal: AbortSignal): Promise<boolean> {
    if (!this.#remembered) return false;
    this.#unused = new FirstReading(await this.#fetch(signal), this.clock);
    return true;
  }

  /**
   * Replaces a hint by a reading if another system may have taken its place. Call this before using a path that was learned
   * with it.
   */
  async confirm(signal: AbortSignal): Promise<void> {
    if (this.#remembered && !this.isRefused && this.#isOneOfSeveral()) await this.refresh(signal);
  }

  /** Prevents a change from reaching another system that has taken the place of this one. */
  async #guard(path: string, signal: AbortSignal): Promise<void> {
    if (!ABOUT_THE_BMC.test(path)) await this.confirmNow(signal);
  }

  /** Throws if another system has taken the place of this one. Reads it, unless that was the last request. */
  async confirmNow(signal: AbortSignal): Promise<void> {
    if (this.isRefused || !this.#isOneOfSeveral()) return;
    const before = this.path;
    const now = this.service.justRead(before);
    if (now === undefined) await this.#fetch(signal);
    else this.#compare(before, identityIn(now));
    // The request was built for the place in the hint.
    if (this.path !== before)
      throw new TargetMoved("the system", before, `another one; it is at ${this.path}`);
  }

  /** Throws if another system is at the place of this one. */
  #compare(path: string, now: TargetIdentity): void {
    const difference = this.#isOneOfSeveral() ? differenceOf(this.#known, now, false) : undefined;
    if (difference === undefined) return;
    if (!this.service.hasChanged) throw new TargetMoved("the system", path, difference);
    throw otherSystem(path, difference);
  }

  /** Call this before a write, because earlier readings must not count as the state afterwards. */
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
   * Makes the next write carry If-Match: MegaRAC drops a write without it and answers success (xcat2/confluent issue 274).
   * Undefined if that is already so, or if there are no tags.
   */
  insist(): (() => void) | undefined {
    const mayHelp = this.behaviour.ifMatch === "on-demand" && this.#last.etag !== undefined;
    if (!mayHelp || this.#learned.has("if-match-refused")) return undefined;
    this.#learned.add("if-match-required");
    return () => this.#learned.delete("if-match-required");
  }

  async #fetch(signal: AbortSignal): Promise<Resource<System>> {
    if (this.#refused) throw this.#refused;
    // A BMC that carries out a change may not list its system for a while. Another system must not be used because of that.
    const isSettled = this.service.hasChanged;
    let found = isSettled
      ? await this.service.get(this.path, System, signal)
      : ((await this.service.find(this.path, System, signal)) ??
        // The path is outdated: another firmware, another board, or another BMC at this address.
        (await findSystem(this.service, { selector: this.#selector, path: undefined }, signal)));
    if (!this.#remembered || isSettled) this.#compare(found.path, identityIn(found.value));
    else if (differenceOf(this.#known, identityIn(found.value), false) !== undefined) {
      // Another system is at the place in the hint. The user's selector finds the right one.
      const known = { selector: this.#selector, path: undefined };
      if (found.path === this.path) found = await findSystem(this.service, known, signal);
      this.#known = {};
      this.#learned.clear();
      this.#onOther();
    }
    this.#known = { ...this.#known, ...identityIn(found.value) };
    const identity = identityOf(found.value);
    const { manufacturer, model } = this.#identity;
    if (identity.manufacturer !== manufacturer || identity.model !== model) this.#learned.clear();
    this.#identity = identity;
    this.#last = found;
    this.#remembered = false;
    return found;
  }
}

/** The error about another system at the place where a change was sent. */
export function otherSystem(path: string, difference: string): BmcError {
  const message = `another system is at ${path} now, which has ${difference}: the change may have gone to it`;
  return new BmcError("verify", message, { uncertain: true });
}

function identityOf(system: System): Identity {
  return {
    manufacturer: system.Manufacturer?.trim() ?? "",
    model: system.Model?.trim() ?? "",
    oem: Object.keys(system.Oem ?? {}),
  };
}
