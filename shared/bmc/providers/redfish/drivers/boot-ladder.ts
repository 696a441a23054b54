import { defined } from "../../../../defined.ts";
import type { Logger } from "../../../../logger.ts";
import type { BootRequest } from "../../../operations/boot-port.ts";
import { SETTINGS, settingsPathOf } from "../resources/settings-place.ts";
import type { ManagedSystem } from "../resources/system.ts";
import { TagLadder } from "../resources/tag-ladder.ts";
import { FUTURE_STATE } from "../service/behaviour-quirks.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { missingProperties } from "../service/missing-properties.ts";
import { readRefusal } from "../service/refusal.ts";
import { BootSettings } from "../service/schema.ts";
import { type BootFields, clearingForms, hasOverride, missingFields } from "./boot-fields.ts";
import { leadsToFutureState } from "./boot-place.ts";

/** One form of a boot write. Without `etag` it has no If-Match. */
export interface BootAttempt {
  readonly path: string;
  readonly fields: BootFields;
  readonly etag: string | undefined;
}

type Rung = "future-state" | "settings" | "system-itself" | "with-missing" | "without-mode";

const FIELDS = ["BootSourceOverrideMode", "BootSourceOverrideTarget", "BootSourceOverrideEnabled"] as const;

/**
 * The forms of one boot write. Each is tried once, and a refusal determines the next. After a success it keeps what the
 * refusals have shown, so that the next write starts with the form that works.
 */
export class BootLadder {
  readonly #system: ManagedSystem;
  readonly #log: Logger;
  readonly #tags: TagLadder;
  readonly #taken = new Set<Rung>();
  /** The forms of removing an override that were sent. */
  readonly #cleared = new Set<string>();

  constructor(system: ManagedSystem, log: Logger) {
    this.#system = system;
    this.#log = log;
    this.#tags = new TagLadder(system.service, system.behaviour.afterPreconditionFailed, log);
  }

  /** The next form after a refusal; undefined if the refusal leaves none to try. */
  async next(
    attempt: BootAttempt,
    answer: HttpAnswer,
    request: BootRequest,
    signal: AbortSignal,
  ): Promise<BootAttempt | undefined> {
    const tag = await this.#tags.next(attempt.path, attempt.etag, answer, signal);
    if (tag) return { ...attempt, etag: tag.etag };
    if (leadsToFutureState(answer) && this.#take("future-state", answer)) {
      this.#tags.startAgain();
      return { ...attempt, path: `${this.#system.path}${FUTURE_STATE.suffix}`, etag: undefined };
    }
    const lacking = missingProperties(
      answer,
      FIELDS.filter((name) => attempt.fields[name] === undefined),
    );
    if (lacking.length > 0) {
      await this.#system.refresh(signal);
      const more = missingFields(lacking, this.#system.last.value.Boot ?? {}, request);
      if (Object.keys(more).length > 0 && this.#take("with-missing", answer))
        return { ...attempt, fields: { ...attempt.fields, ...more } };
    }
    const { path, last } = this.#system;
    const isElsewhere = attempt.path !== path && !attempt.path.endsWith(FUTURE_STATE.suffix);
    const mayBeElsewhere = [400, 404, 405, 422, 501].includes(answer.status);
    if (
      isElsewhere &&
      mayBeElsewhere &&
      !this.#taken.has("settings") &&
      this.#take("system-itself", answer)
    ) {
      this.#tags.startAgain();
      return { ...attempt, path, etag: attempt.etag === undefined ? undefined : last.etag };
    }
    if (attempt.path === path && !this.#taken.has("system-itself") && isReadOnly(answer)) {
      const settings = await this.#settings(answer, signal);
      if (settings) return { ...attempt, path: settings, etag: undefined };
    }
    const { BootSourceOverrideMode: mode, ...fewer } = attempt.fields;
    const malformed = answer.status === 400 || answer.status === 422;
    const isAsked = this.#taken.has("with-missing");
    if (malformed && mode !== undefined && !isAsked && this.#take("without-mode", answer))
      return { ...attempt, fields: fewer };
    return malformed && request.device === "none" ? this.#clearing(attempt, answer) : undefined;
  }

  /** The next form that removes an override. BMCs require a change between `None` and `Disabled`. */
  #clearing(attempt: BootAttempt, answer: HttpAnswer): BootAttempt | undefined {
    const { BootSourceOverrideMode: mode, ...sent } = attempt.fields;
    this.#cleared.add(JSON.stringify(sent));
    const boot = this.#system.last.value.Boot ?? {};
    const form = clearingForms(boot).find((each) => !this.#cleared.has(JSON.stringify(each)));
    if (!form) return undefined;
    const reason = readRefusal(answer).text;
    this.#log.debug({ form, reason }, "boot override not taken back, trying another form");
    return { ...attempt, fields: { ...form, ...defined({ BootSourceOverrideMode: mode }) } };
  }

  /**
   * The settings resource for properties that the system shows as read-only: the one that it names, otherwise the one below
   * it.
   */
  async #settings(answer: HttpAnswer, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#take("settings", answer)) return undefined;
    const { service, path, last } = this.#system;
    const settings = settingsPathOf(service, last) ?? `${path.replace(/\/$/, "")}${SETTINGS}`;
    const found = await service.find(settings, BootSettings, signal);
    if (!hasOverride(found?.value.Boot)) return undefined;
    this.#tags.startAgain();
    return settings;
  }

  /** Call this when the last form was accepted. */
  climbed(): void {
    const { behaviour } = this.#system;
    if (this.#taken.has("without-mode") && behaviour.sendMode === "when-different")
      this.#system.learn("mode-read-only");
    if (this.#taken.has("with-missing") && behaviour.sendMode !== "always")
      this.#system.learn("mode-required");
    if (this.#taken.has("future-state")) this.#system.learn("ami-future-state");
    if (this.#tags.learned) this.#system.learn(this.#tags.learned);
  }

  #take(rung: Rung, answer: HttpAnswer): boolean {
    if (this.#taken.has(rung)) return false;
    this.#taken.add(rung);
    const reason = readRefusal(answer).text;
    this.#log.debug({ rung, reason }, "boot override refused, trying another form");
    return true;
  }
}

/** Whether a refusal concerns the place: this resource does not accept the properties, or no PATCH at all. */
function isReadOnly(answer: HttpAnswer): boolean {
  if (answer.status === 405 || answer.status === 501) return true;
  if (answer.status !== 400 && answer.status !== 422) return false;
  const { messageIds, text } = readRefusal(answer);
  const isNamed = messageIds.some((id) => /(^|\.)Property(NotWritable|NotUpdated|Unknown)$/.test(id));
  return isNamed || /read.?only/i.test(text);
}
