import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import { defined } from "../../../defined.ts";
import type { HttpAnswer, HttpConnection } from "../../http/http-connection.ts";
import { jsonIn } from "../../http/json-in.ts";
import { statusError } from "../../http/status-error.ts";
import type { WriteEffect } from "../../operations/write-proof.ts";
import type { Authentication } from "./authentication.ts";
import { denialOf, faultOf } from "./fault.ts";

/** The newest version with everything that is used here (Ironic 2024.2). Later versions may change meanings. */
const NEWEST_MINOR = 95;
/** Older versions do not show the owner of a node. */
const OLDEST_MINOR = 50;

/** Ironics of several versions may answer behind a proxy. A server that lowers its version with every answer is not one. */
const MOST_LOWERINGS = 3;

const VERSION = "x-openstack-ironic-api-version";
const LARGEST_VERSION = "x-openstack-ironic-api-maximum-version";

export interface IronicRequest {
  readonly method: "GET" | "PUT" | "POST" | "DELETE";
  /** The path below `/v1`. */
  readonly path: string;
  readonly query?: string;
  readonly body?: unknown;
  /** The effect of sending the request again; absent if there is none. */
  readonly effect?: WriteEffect;
}

export interface IronicApiOptions {
  readonly http: HttpConnection;
  readonly url: string;
  readonly authentication: Authentication;
  readonly clock: Clock;
  /** Called for every change that Ironic accepts. */
  readonly onAccepted?: (() => void) | undefined;
}

/** Ironic's REST API: version, authentication, errors. One attempt per call. */
export class IronicApi {
  readonly #options: IronicApiOptions;
  readonly #base: string;
  #minor = NEWEST_MINOR;

  constructor(options: IronicApiOptions) {
    this.#options = options;
    this.#base = new URL(options.url).pathname.replace(/(\/v1)?\/?$/, "");
  }

  /** The known minor version in use. */
  get minor(): number {
    return this.#minor;
  }

  /** Requires a minor version. Throws `unsupported` if Ironic is known to be too old. */
  require(minor: number, what: string): void {
    if (this.#minor >= minor) return;
    const message = `Ironic offers ${what} from API version 1.${minor}, and this one has 1.${this.#minor}`;
    throw new BmcError("unsupported", message);
  }

  /** Makes a call. Resolves to the answer's JSON; undefined if there is none. `request` may be a function of the version. */
  async call(request: IronicRequest | (() => IronicRequest), signal: AbortSignal): Promise<unknown> {
    const current = typeof request === "function" ? request : () => request;
    const answer = await this.#negotiate(current, signal);
    const { method, path, effect = method === "GET" ? undefined : "setting" } = current();
    const text = answer.body.toString("utf8");
    if (answer.status >= 200 && answer.status <= 204) {
      const denial = this.#options.authentication.redact(denialOf(text));
      if (denial !== "") {
        const message = `${method} /v1${path} answered ${answer.status}: ${denial}`;
        throw new BmcError("bmc", message, { uncertain: method !== "GET" });
      }
      if (method !== "GET") this.#options.onAccepted?.();
      return jsonIn(text);
    }
    throw this.#error(answer, `${method} /v1${path}`, text, effect);
  }

  /** Sends a request, and again after a refusal with 401 or 406; a command is not repeated after a 401. */
  async #negotiate(request: () => IronicRequest, signal: AbortSignal): Promise<HttpAnswer> {
    let mayRenew = true;
    for (let lowered = 0; ; ) {
      const current = request();
      const answer = await this.#send(current, signal);
      if (answer.status === 406 && lowered < MOST_LOWERINGS && this.#lower(answer)) {
        lowered += 1;
        continue;
      }
      if (answer.status !== 401 || !mayRenew || !this.#options.authentication.expire()) return answer;
      if (current.effect === "command") {
        const message = `${current.method} /v1${current.path} answered 401: the token has expired`;
        throw new BmcError("busy", message, { uncertain: true });
      }
      mayRenew = false;
    }
  }

  async #send({ method, path, query, body }: IronicRequest, signal: AbortSignal): Promise<HttpAnswer> {
    const { http, authentication } = this.#options;
    const json = body === undefined ? undefined : JSON.stringify(body);
    return http.send(
      {
        method,
        path: `${this.#base}/v1${path}${query === undefined ? "" : `?${query}`}`,
        headers: {
          accept: "application/json",
          [VERSION]: `1.${this.#minor}`,
          ...(json === undefined ? {} : { "content-type": "application/json" }),
          ...(await authentication.headers(signal)),
        },
        ...defined({ body: json }),
        doing: `${method} /v1${path}`,
        isWrite: method !== "GET",
      },
      signal,
    );
  }

  /** Selects an older version. Returns false if there is none to try. */
  #lower({ headers }: HttpAnswer): boolean {
    const [, digits] = /^1\.(\d{1,4})$/.exec(headers[LARGEST_VERSION] ?? "") ?? [];
    const minor = Number(digits);
    if (digits === undefined || minor >= this.#minor) return false;
    if (minor < OLDEST_MINOR) {
      const message = `Ironic's API version is 1.${minor}, and at least 1.${OLDEST_MINOR} is needed`;
      throw new BmcError("unsupported", message);
    }
    this.#minor = minor;
    return true;
  }

  #error(answer: HttpAnswer, doing: string, text: string, effect: WriteEffect | undefined): BmcError {
    const words = this.#options.authentication.redact(faultOf(text));
    const nowMs = this.#options.clock.now();
    const error = statusError(answer, doing, words, { effect, nowMs });
    // Ironic checks the request and the driver before it does anything.
    if (answer.status === 400) return new BmcError("unsupported", error.message);
    if (answer.status === 409) return conflict(error, words);
    return answer.status === 404 ? new NotFound(error.message, error.uncertain) : error;
  }
}

/** The path, or the object that it refers to, does not exist. */
export class NotFound extends BmcError {
  constructor(message: string, uncertain: boolean) {
    super("bmc", message, { uncertain });
  }
}

/**
 * The error of a conflict. A node is locked while one of Ironic's tasks works on it, and only that proves that the request
 * was not carried out.
 */
function conflict({ message, uncertain }: BmcError, words: string): BmcError {
  return uncertain && !/lock/i.test(words)
    ? new BmcError("busy", message, { uncertain })
    : new BmcError("busy", message, { locked: true });
}

/** Describes a request for people, such as `PUT /v1/nodes/node-1/states/power {"target":"power on"}`. */
export function describeRequest({ method, path, query, body }: IronicRequest): string {
  const whole = `${method} /v1${path}${query === undefined ? "" : `?${query}`}`;
  return body === undefined ? whole : `${whole} ${JSON.stringify(body)}`;
}
