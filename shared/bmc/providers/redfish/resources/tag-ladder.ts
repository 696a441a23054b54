import type { Logger } from "../../../../logger.ts";
import type { Behaviour, LearnedQuirk } from "../service/behaviour-quirks.ts";
import { otherStrength, unquoted } from "../service/etag.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { readRefusal } from "../service/refusal.ts";
import { Tagged } from "../service/schema.ts";
import type { Service } from "../service/service.ts";

type Rung = "if-match" | "any-tag" | "fresh-tag" | "other-strength" | "unquoted" | "without-tag";

/** Matches any state of the resource (RFC 9110 section 13.1.1). */
const ANY = "*";

/** The next tag to try; undefined means no If-Match. */
export interface NextTag {
  readonly etag: string | undefined;
}

/** The forms of If-Match for one write. Each is tried once, and a refusal determines the next. */
export class TagLadder {
  readonly #service: Service;
  readonly #afterPreconditionFailed: Behaviour["afterPreconditionFailed"];
  readonly #log: Logger;
  readonly #taken = new Set<Rung>();
  /** The tag that was sent last. */
  #tag: string | undefined;
  #last: NextTag | undefined;

  constructor(service: Service, after: Behaviour["afterPreconditionFailed"], log: Logger) {
    this.#service = service;
    this.#afterPreconditionFailed = after;
    this.#log = log;
  }

  /** What the refusals so far have shown. Read it when the last form was accepted. */
  get learned(): LearnedQuirk | undefined {
    if (this.#last && this.#last.etag === undefined) return "if-match-refused";
    return this.#last && this.#taken.has("if-match") ? "if-match-required" : undefined;
  }

  /** Call this before writing another resource, which has other tags. */
  startAgain(): void {
    this.#taken.delete("if-match");
    this.#tag = undefined;
    this.#last = undefined;
  }

  /**
   * The next tag after a refusal, read from the resource at `path` if one is required. Undefined if the refusal does not
   * concern tags, or if nothing is left to try.
   */
  async next(
    path: string,
    etag: string | undefined,
    answer: HttpAnswer,
    signal: AbortSignal,
  ): Promise<NextTag | undefined> {
    if (etag !== undefined && etag !== ANY) this.#tag = etag;
    const next = await this.#next(path, etag, answer, signal);
    this.#last = next ?? this.#last;
    return next;
  }

  async #next(
    path: string,
    etag: string | undefined,
    answer: HttpAnswer,
    signal: AbortSignal,
  ): Promise<NextTag | undefined> {
    if (asksForTag(answer) || (answer.status === 412 && etag === undefined)) {
      const fetched = await this.#fetched("if-match", path, signal);
      return fetched ?? (await this.#otherForm(path, signal)) ?? this.#anyTag();
    }
    if (answer.status !== 412 || etag === undefined) return undefined;
    // What is known about the BMC determines the order, but never omits a form.
    if (this.#afterPreconditionFailed === "other-tags")
      return (await this.#otherForm(path, signal)) ?? this.#withoutTag(path);
    return this.#withoutTag(path) ?? (await this.#otherForm(path, signal));
  }

  /** The next form: a fresh tag, then strong for weak or the reverse, then without its quotes. */
  async #otherForm(path: string, signal: AbortSignal): Promise<NextTag | undefined> {
    const etag = this.#tag;
    if (etag === undefined) return undefined;
    const fresh = await this.#fetched("fresh-tag", path, signal);
    if (fresh) return fresh;
    if (this.#take("other-strength")) return { etag: otherStrength(etag) };
    return this.#take("unquoted") ? { etag: unquoted(etag) } : undefined;
  }

  /** The form for a resource without a tag although the BMC requires one. */
  #anyTag(): NextTag | undefined {
    return this.#take("any-tag") ? { etag: ANY } : undefined;
  }

  #withoutTag(path: string): NextTag | undefined {
    if (!this.#take("without-tag")) return undefined;
    this.#log.warn({ path }, "BMC answered 412 to If-Match, retrying once without it");
    return { etag: undefined };
  }

  async #fetched(rung: Rung, path: string, signal: AbortSignal): Promise<NextTag | undefined> {
    if (!this.#take(rung)) return undefined;
    const etag = (await this.#service.find(path, Tagged, signal))?.etag;
    return etag === undefined ? undefined : { etag };
  }

  #take(rung: Rung): boolean {
    if (this.#taken.has(rung)) return false;
    this.#taken.add(rung);
    this.#log.debug({ rung }, "write refused, trying another form of If-Match");
    return true;
  }
}

/**
 * Whether an answer requires a tag: 428 (RFC 6585), or a message with this meaning, because some MegaRAC firmware answers
 * 400.
 */
function asksForTag({ status, body }: HttpAnswer): boolean {
  if (status === 428) return true;
  const asked = /PreconditionHeaderMissing|PreconditionRequired/;
  return status === 400 && readRefusal({ body }).messageIds.some((id) => asked.test(id));
}
