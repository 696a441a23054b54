import { createHash, createHmac, randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { revealJson } from "../../../../shared/secret.ts";
import type { ActionSecrets } from "../../../core/action/action.ts";
import type { RequestedTask, TaskRecord } from "./task-record.ts";

export interface AskedTask extends RequestedTask {
  readonly secrets: ActionSecrets | undefined;
}

const MOST_REMEMBERED = 10_000;

/**
 * Recognizes repeated requests. Secrets are compared by keyed digests, which are only in memory. After a restart, requests
 * that differ only in secrets count as equal.
 */
export class RequestIds {
  readonly #key = randomBytes(32);
  /** Digests by task ID, the oldest first. */
  readonly #secrets = new Map<string, string>();

  /**
   * The key of a caller's request about one machine; undefined without a request ID. Services pass one ID on to several
   * calls, so a different request with the same ID is new.
   */
  keyOf(caller: string | undefined, requestId: string | undefined, subject: string): string | undefined {
    if (!requestId) return undefined;
    return createHash("sha256")
      .update(JSON.stringify([caller, requestId, subject]))
      .digest("hex");
  }

  remember(taskId: string, { secrets }: AskedTask): void {
    if (!secrets) return;
    this.#secrets.set(taskId, this.#digest(secrets));
    const [oldest] = this.#secrets.keys();
    if (this.#secrets.size > MOST_REMEMBERED && oldest !== undefined) this.#secrets.delete(oldest);
  }

  isSame(record: TaskRecord, { secrets, description, subject, work }: AskedTask): boolean {
    const known = this.#secrets.get(record.id);
    return (
      record.description === description &&
      record.subject === subject &&
      isDeepStrictEqual(record.work, work) &&
      record.hasSecrets === (secrets !== undefined) &&
      record.hasDirectAccess === (secrets?.bmc !== undefined) &&
      (!secrets || known === undefined || known === this.#digest(secrets))
    );
  }

  #digest(secrets: ActionSecrets): string {
    return createHmac("sha256", this.#key).update(revealJson(secrets)).digest("base64");
  }
}
