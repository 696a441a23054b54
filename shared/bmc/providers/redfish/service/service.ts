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

/** Before a GET is sent again, and how many may fail again. */
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

/** Requests to one BMC with its credentials. */
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

  /** `onAccepted` is called with every change that the BMC accepts. */
  constructor(http: HttpClient, authentication: Authentication, clock: Clock, onAccepted?: () => void) {
    this.#http = http;
    this.#authentication = authentication;
    this.#clock = clock;
    this.#onAccepted = onAccepted;
  }

  /** Has `check` called before every request that may change something; what it throws keeps the request from being sent. */
  guard(check: (path: string, signal: AbortSignal) => Promise<void>): void {
    this.#beforeChange = check;
  }

  /** The body of a resource that was read a moment ago, if nothing was asked since; else undefined. */
  justRead(path: string): unknown {
    const last = this.#lastRead;
    const isFresh = last && this.#clock.monotonicMs() - last.atMs <= FRESH_MS;
    return isFresh && samePath(last.path, path) ? last.body : undefined;
  }

  /** Whether the BMC has accepted a change since this session began. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** Reads a resource. Throws what the BMC answered, or `protocol` when it is not what `schema` describes. */
  async get<T extends z.ZodMiniType>(
    path: string,
    schema: T,
    signal: AbortSignal,
  ): Promise<Resource<z.infer<T>>> {
    const answer = await this.#read({ method: "GET", path }, signal);
    if (answer.status !== 200) throw this.refusal(answer, { method: "GET", path });
    return this.#resource(answer, schema);
  }

  /** Like `get`, but undefined when there is no such resource. */
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
   * Like `find`, for what the BMC itself refers to. One that is not ready answers 404, too, so that it is asked twice. Throws
   * `protocol` for an answer with nothing of a resource; a collection says by itself that it is not complete.
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
   * Sends a GET, and once more where the answer is one that BMCs give for a moment (openstack/sushy repeats any 5xx). Resources
   * that keep failing use up the repetitions, so that many of them do not add up.
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

  /** Sends a request whatever its answer; only refused credentials throw. */
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
    // The session was accepted a moment before: the write may have ended it. Properties may be written twice.
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

  /** The refusal of the credentials, which a 403 alone is not. */
  #refused(answer: HttpAnswer, request: HttpRequest | HttpUpload): BmcError | undefined {
    if (answer.status !== 401 && answer.status !== 403) return undefined;
    const refusal = this.refusal(answer, request);
    return refusal.class === "auth" ? refusal : undefined;
  }

  /** Uploads a file once, whatever the answer; refused credentials throw. */
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

  /** Logs out and in again where a session is in use, and says whether one is: what ends with a session is then gone. */
  endSession(): Promise<boolean> {
    return this.#authentication.endSession();
  }

  /** Does not log out at the end. */
  keepSession(): void {
    this.#authentication.keepSession();
  }

  /** A refusal as a typed error. */
  refusal(answer: HttpAnswer, request: Pick<HttpRequest, "method" | "path" | "body" | "effect">): BmcError {
    if (answer.status === 403) this.#accountToChange ??= this.pathOf(accountToChange(answer));
    return answerError(answer, request, this.#clock.now());
  }

  /**
   * The path of a `Location` that this BMC sent. BMCs name themselves as they know themselves, by another name, address or
   * port; the path is used on the connection that is open, and nothing is sent anywhere else.
   */
  pathOf(location: string | undefined): string | undefined {
    return ownPath(location, this.#http.origin);
  }

  /** Where an action that a resource lists goes: its target, else the place that follows from its name (DSP0266 section 7.7). */
  actionPath(
    resource: string,
    name: `#${string}`,
    action: { readonly target?: string | undefined } | undefined,
  ): string | undefined {
    if (!action) return undefined;
    return this.localPath(action.target) ?? `${resource.replace(/\/$/, "")}/Actions/${name.slice(1)}`;
  }

  /** The path of a link on this BMC; undefined when it leads elsewhere. */
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

/** Whether an answer has nothing but what went wrong, or nothing at all. */
function isEmpty(body: unknown): boolean {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return false;
  return Object.keys(body).every((name) => name === "error" || name.startsWith("@Message."));
}

/** The next request opens a new session, so that the command can be sent again once it is known not to have been carried out. */
function sessionEnded(refused: BmcError, effect: WriteEffect): BmcError {
  return new BmcError("busy", `${refused.message}; the session has ended`, {
    cause: refused,
    uncertain: effect === "command",
  });
}

/** A resource out of an answer's body or an expanded collection. Throws `protocol` when it is something else. */
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
