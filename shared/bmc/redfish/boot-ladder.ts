import type { Logger } from "../../logger.ts";
import type { BootFields } from "./boot-fields.ts";
import { readRefusal } from "./errors.ts";
import { otherStrength } from "./etag.ts";
import type { HttpAnswer } from "./http-client.ts";
import { FUTURE_STATE } from "./quirks.ts";
import { BootSettings } from "./schema.ts";
import type { ManagedSystem } from "./system.ts";

/** One form of a boot write. Without `etag` it carries no If-Match. */
export interface BootAttempt {
  readonly path: string;
  readonly fields: BootFields;
  readonly etag: string | undefined;
}

type Rung = "future-state" | "if-match" | "fresh-tag" | "other-strength" | "without-tag" | "without-mode";

/**
 * The forms of one boot write, each tried once: what a refusal asks for decides about the next. On success
 * it keeps what the way there has shown, so that the next write starts with the form that works.
 */
export class BootLadder {
  readonly #system: ManagedSystem;
  readonly #log: Logger;
  readonly #taken = new Set<Rung>();

  constructor(system: ManagedSystem, log: Logger) {
    this.#system = system;
    this.#log = log;
  }

  /** The next form after a refusal; undefined when there is none left that the refusal calls for. */
  async next(
    attempt: BootAttempt,
    answer: HttpAnswer,
    signal: AbortSignal,
  ): Promise<BootAttempt | undefined> {
    const { status } = answer;
    if (status === 428) return await this.#withTag("if-match", attempt, signal);
    if (status === 412) return await this.#afterPreconditionFailed(attempt, signal);
    if (this.#leadsToFutureState(answer) && this.#take("future-state", answer)) {
      // Another resource has other tags and starts again without one.
      this.#taken.delete("if-match");
      return { ...attempt, path: `${this.#system.path}${FUTURE_STATE.suffix}`, etag: undefined };
    }
    const { BootSourceOverrideMode: mode, ...fewer } = attempt.fields;
    const malformed = status === 400 || status === 422;
    if (malformed && mode !== undefined && this.#take("without-mode", answer))
      return { ...attempt, fields: fewer };
    return undefined;
  }

  /** To be called when the last form was taken. */
  climbed(): void {
    const { behaviour } = this.#system;
    if (this.#taken.has("without-mode") && behaviour.sendMode === "when-different")
      this.#system.learn("mode-read-only");
    if (this.#taken.has("without-tag")) this.#system.learn("if-match-refused");
    else if (this.#taken.has("if-match")) this.#system.learn("if-match-required");
  }

  async #afterPreconditionFailed(
    attempt: BootAttempt,
    signal: AbortSignal,
  ): Promise<BootAttempt | undefined> {
    if (attempt.etag === undefined) return await this.#withTag("if-match", attempt, signal);
    if (this.#system.behaviour.afterPreconditionFailed === "other-tags") {
      const fresh = await this.#withTag("fresh-tag", attempt, signal);
      if (fresh) return fresh;
      if (this.#take("other-strength")) return { ...attempt, etag: otherStrength(attempt.etag) };
    }
    if (this.#take("without-tag")) {
      this.#log.warn({ path: attempt.path }, "the BMC answers 412 to If-Match, trying once without");
      return { ...attempt, etag: undefined };
    }
    return undefined;
  }

  async #withTag(rung: Rung, attempt: BootAttempt, signal: AbortSignal): Promise<BootAttempt | undefined> {
    if (!this.#take(rung)) return undefined;
    const resource = await this.#system.service.find(attempt.path, BootSettings, signal);
    return resource?.etag === undefined ? undefined : { ...attempt, etag: resource.etag };
  }

  #take(rung: Rung, answer?: HttpAnswer): boolean {
    if (this.#taken.has(rung)) return false;
    this.#taken.add(rung);
    const reason = answer && readRefusal(answer.body).text;
    this.#log.debug({ rung, reason }, "boot override refused, trying another form");
    return true;
  }

  #leadsToFutureState(answer: HttpAnswer): boolean {
    return readRefusal(answer.body).messageIds.some((id) => FUTURE_STATE.messageId.test(id));
  }
}
