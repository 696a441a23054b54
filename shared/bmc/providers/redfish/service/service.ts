import type * as z from "zod/mini";
import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import { isServerFault } from "../../../http/status-error.ts";
import type { WriteEffect } from "../../../operations/write-proof.ts";
import type { Authentication } from "./authentication.ts";
import { answerError } from "./errors.ts";
import { readEtag } from "./etag.ts";
import {
  effectOf,
  type HttpAnswer,
  type HttpClient,
  type HttpRequest,
  type HttpUpload,
  localPath,
  ownPath,
} from "./http-client.ts";
import { samePath } from "./paths.ts";
import { accountToChange } from "./refusal.ts";
import { Collection } from "./schema.ts";

/** The pause before a GET is sent again, and the number of repetitions. */
const REPEAT_MS = 500;
const MOST_REPETITIONS = 3;

/** A resource as it was read. */
export interface Resource<T> {
  readonly path: string;
  readonly value: T;
  readonly etag: string | undefined;
}

/** How long a reading shows what is at a place. */
const FRESH_MS = 2_000;

interface LastRead {
  readonly path: string;
  readonly body: unknown;
  readonly atMs: number;
}

/** Sends requests to one BMC with its credentials. */
export class Service {
  readonly #http: HttpClient;
  readonly #authentication: Authentication;
  readonly #clock: Clock;
  readonly #onAccepted: (() => void) | undefined;
  #hasChanged = false;
  #repetitions = MOST_REPETITIONS;
  #accountToChange: string | undefined;
  #lastRead: LastRead | undefined;
  #beforeChange: ((path: string, signal: AbortSignal) => Promise<void>) | undefined;

  /** Creates a service. `onAccepted` is called for every change that the BMC accepts. */
  constructor(http: HttpClient, authentication: Authentication, clock: Clock, onAccepted?: () => void) {
    this.#http = http;
    this.#authentication = authentication;
    this.#clock = clock;
    this.#onAccepted = onAccepted;
  }

  /** Calls `check` before every request that may change something. If it throws, the request is not sent. */
  guard(check: (path: string, signal: AbortSignal) => Promise<void>): void {
    this.#beforeChange = check;
  }

  /** The body of a resource that was read a moment ago, if no other request followed; otherwise undefined. */
  justRead(path: string): unknown {
    const last = this.#lastRead;
    const isFresh = last && this.#clock.monotonicMs() - last.atMs <= FRESH_MS;
    return isFresh && samePath(last.path, path) ? last.body : undefined;
  }

  /** Whether the BMC has accepted a change since this session began. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** Reads a resource. Throws the BMC's error, or `protocol` if the answer does not match `schema`. */
  async get<T extends z.ZodMiniType>(
    path: string,
    schema: T,
    signal: AbortSignal,
  ): Promise<Resource<z.infer<T>>> {
    const answer = await this.#read({ method: "GET", path }, signal);
    if (answer.status !== 200) throw this.refusal(answer, { method: "GET", path });
    return this.#resource(answer, schema);
  }

  /** Like `get`, but returns undefined if the resource does not exist. */
  async find<T extends z.ZodMiniType>(
    path: string,
    schema: T,
    signal: AbortSignal,
    maxBytes?: number,
  ): Promise<Resource<z.infer<T>> | undefined> {
    const request = { method: "GET", path, ...defined({ maxBytes }) } as const;
    const answer = await this.#read(request, signal);
    if (answer.status === 404 || answer.status === 410) return undefined;
    if (answer.status !== 200) throw this.refusal(answer, { method: "GET", path });
    return this.#resource(answer, schema);
  }

  /**
   * Like `find`, for a resource that the BMC itself refers to. It is requested twice, because one that is not ready also
   * answers 404. Throws `protocol` for an answer without contents of a resource; a collection says itself that it is
   * incomplete.
   */
  async findLinked<T extends z.ZodMiniType>(
    path: string,
    schema: T,
    signal: AbortSignal,
    maxBytes?: number,
  ): Promise<Resource<z.infer<T>> | undefined> {
    const find = () => this.find(path, schema, signal, maxBytes);
    const found = (await find()) ?? (await find());
    const isCollection = Object.is(schema, Collection);
    if (!found || isCollection || !isEmpty(this.justRead(found.path))) return found;
    throw new BmcError("protocol", `GET ${path} answered with nothing of a resource`);
  }

  /**
   * Sends a GET, and once more for an answer that BMCs give temporarily (openstack/sushy repeats any 5xx). The number of
   * repetitions is limited, so that many failing resources do not add up.
   */
  async #read(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    try {
      const answer = await this.send(request, signal);
      if (!isServerFault(answer.status) || this.#repetitions === 0) return answer;
    } catch (thrown) {
      if (!BmcError.from(thrown).transient || this.#repetitions === 0) throw thrown;
    }
    this.#repetitions--;
    await this.#clock.sleep(REPEAT_MS, signal);
    const answer = await this.send(request, signal);
    if (!isServerFault(answer.status)) this.#repetitions++;
    return answer;
  }

  /** Sends a request and returns any answer. Throws only for refused credentials. */
  async send(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    if (request.method !== "GET") await this.#beforeChange?.(request.path, signal);
    this.#lastRead = undefined;
    const answer = await this.#sendAuthorised(request, signal);
    if (request.method === "GET" && answer.status === 200) {
      this.#lastRead = { path: answer.path, body: answer.body, atMs: this.#clock.monotonicMs() };
    }
    return answer;
  }

  async #sendAuthorised(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const answer = await this.#authorised(request, signal);
    const refused = this.#refused(answer, request);
    const { mode } = this.#authentication;
    if (!(await this.#authentication.renewed(answer, refused !== undefined))) {
      if (refused) throw refused;
      if (request.method !== "GET") this.#noteChange(answer);
      return answer;
    }
    // The session was accepted a moment ago, so the write may have ended it. Properties may be written twice.
    const effect = effectOf(request);
    if (refused && mode === "session" && effect !== undefined && request.method !== "PATCH") {
      throw sessionEnded(refused, effect);
    }
    const again = await this.#authorised(request, signal);
    const refusedAgain = this.#refused(again, request);
    await this.#authentication.renewed(again, refusedAgain !== undefined);
    if (refusedAgain) throw refusedAgain;
    if (request.method !== "GET") this.#noteChange(again);
    return again;
  }

  /** The refusal of the credentials; a 403 alone is not one. */
  #refused(answer: HttpAnswer, request: HttpRequest | HttpUpload): BmcError | undefined {
    if (answer.status !== 401 && answer.status !== 403) return undefined;
    const refusal = this.refusal(answer, request);
    return refusal.class === "auth" ? refusal : undefined;
  }

  /** Uploads a file once and returns any answer. Throws for refused credentials. */
  async upload(request: HttpUpload, signal: AbortSignal): Promise<HttpAnswer> {
    await this.#beforeChange?.(request.path, signal);
    this.#lastRead = undefined;
    const credentials = await this.#authentication.headers(signal);
    const headers = { ...request.headers, ...credentials };
    const answer = await this.#http.upload({ ...request, headers }, signal);
    const refused = this.#refused(answer, request);
    await this.#authentication.renewed(answer, refused !== undefined);
    if (refused) throw refused;
    this.#noteChange(answer);
    return answer;
  }

  /**
   * The account whose password must be changed before the BMC allows anything else, if a refusal has named it (DSP0266,
   * password change required).
   */
  get accountToChange(): string | undefined {
    return this.#accountToChange;
  }

  /** Whether requests are sent in a login session. */
  get hasSession(): boolean {
    return this.#authentication.mode === "session";
  }

  /**
   * Logs out and in again if there is a session, and returns whether there is one. Everything that ends with a session is
   * then gone.
   */
  endSession(): Promise<boolean> {
    return this.#authentication.endSession();
  }

  /** Skips the logout at the end. */
  keepSession(): void {
    this.#authentication.keepSession();
  }

  /** Converts a refusal to a typed error. */
  refusal(answer: HttpAnswer, request: Pick<HttpRequest, "method" | "path" | "body" | "effect">): BmcError {
    if (answer.status === 403) this.#accountToChange ??= this.pathOf(accountToChange(answer));
    return answerError(answer, request, this.#clock.now());
  }

  /**
   * The path of a `Location` from this BMC. BMCs may use another name, address or port for themselves. The path is used on
   * the open connection, and nothing is sent elsewhere.
   */
  pathOf(location: string | undefined): string | undefined {
    return ownPath(location, this.#http.origin);
  }

  /** The path of an action: its target in the resource, otherwise the one derived from its name (DSP0266 section 7.7). */
  actionPath(
    resource: string,
    name: `#${string}`,
    action: { readonly target?: string | undefined } | undefined,
  ): string | undefined {
    if (!action) return undefined;
    return this.localPath(action.target) ?? `${resource.replace(/\/$/, "")}/Actions/${name.slice(1)}`;
  }

  /** The path of a link on this BMC; undefined if it leads elsewhere. */
  localPath(link: string | undefined): string | undefined {
    return localPath(link, this.#http.origin);
  }

  #noteChange({ status }: HttpAnswer): void {
    if (status >= 300) return;
    this.#hasChanged = true;
    this.#onAccepted?.();
  }

  async #authorised(request: HttpRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const credentials = await this.#authentication.headers(signal);
    return await this.#http.exchange({ ...request, headers: { ...request.headers, ...credentials } }, signal);
  }

  #resource<T extends z.ZodMiniType>(answer: HttpAnswer, schema: T): Resource<z.infer<T>> {
    return parseResource(answer.path, answer.body, schema, answer.headers["etag"]);
  }
}

/** Whether an answer contains only errors, or nothing at all. */
function isEmpty(body: unknown): boolean {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return false;
  return Object.keys(body).every((name) => name === "error" || name.startsWith("@Message."));
}

/**
 * The error of a session that has ended. The next request opens a new one, so that the command can be sent again once it is
 * known not to have been carried out.
 */
function sessionEnded(refused: BmcError, effect: WriteEffect): BmcError {
  return new BmcError("busy", `${refused.message}; the session has ended`, {
    cause: refused,
    uncertain: effect === "command",
  });
}

/** Parses a resource in an answer's body or an expanded collection. Throws `protocol` if it is invalid. */
export function parseResource<T extends z.ZodMiniType>(
  path: string,
  body: unknown,
  schema: T,
  etagHeader?: string,
): Resource<z.infer<T>> {
  const parsed = schema.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue?.path.join(".") || "the answer";
    const message = `GET ${path} answered something else than expected: ${where}: ${issue?.message}`;
    throw new BmcError("protocol", message);
  }
  return { path, value: parsed.data, etag: readEtag(etagHeader, etagProperty(body)) };
}

function etagProperty(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null || !("@odata.etag" in body)) return undefined;
  const etag = body["@odata.etag"];
  return typeof etag === "string" ? etag : undefined;
}
