import type { Clock } from "../../../../clock.ts";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Logger } from "../../../../logger.ts";
import { textOf } from "../../../../text-of.ts";
import type { Account } from "./basic-authorization.ts";
import { answerError } from "./errors.ts";
import {
  describe,
  type HttpAnswer,
  type HttpClient,
  type HttpRequest,
  localPath,
  ownPath,
} from "./http-client.ts";
import { ServiceRoot, SessionResource } from "./schema.ts";

const SESSIONS = "/redfish/v1/SessionService/Sessions";
const ROOT = "/redfish/v1/";
/** Statuses of a login which mean that this is not the place for it. */
const NOT_SERVED = [404, 405, 501];
/** Time for cleaning up after the caller has cancelled. */
const CLEAN_UP_MS = 3_000;

export interface LoginContext {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A session on the BMC (DSP0266 section 13.3.4). Each login needs a logout, because BMCs have 8 to 16 sessions. */
export class LoginSession {
  readonly #context: LoginContext;
  readonly #path: string | undefined;
  readonly token: string;

  private constructor(context: LoginContext, token: string, path: string | undefined) {
    this.#context = context;
    this.token = token;
    this.#path = path;
  }

  /**
   * Logs in. If `signal` aborts meanwhile, it still waits briefly for the answer, because the BMC may have created a session
   * that only the answer names. That session is then ended and the signal's reason is thrown.
   */
  static async open(context: LoginContext, account: Account, signal: AbortSignal): Promise<LoginSession> {
    signal.throwIfAborted();
    const patience = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const onAbort = () => {
      timer = setTimeout(() => patience.abort(signal.reason), CLEAN_UP_MS);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const session = await login(context, account, patience.signal);
      if (signal.aborted) {
        await session.close();
        throw signal.reason;
      }
      return session;
    } catch (error) {
      if (error instanceof BmcError && error.uncertain) {
        context.log.warn({}, "login response lost: BMC may keep a session until it expires");
      }
      // An abort takes precedence over the login's own error.
      signal.throwIfAborted();
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  static of(context: LoginContext, token: string, path: string | undefined): LoginSession {
    return new LoginSession(context, token, path);
  }

  /**
   * Returns true if the BMC says that it does not know the session. Some keep their sessions through a restart, so a known
   * one proves nothing.
   */
  async isForgotten(signal: AbortSignal): Promise<true | undefined> {
    const path = this.#path;
    if (path === undefined) return undefined;
    const headers = { "x-auth-token": this.token };
    const answer = await this.#context.http.exchange({ method: "GET", path, headers }, signal);
    return [401, 404].includes(answer.status) ? true : undefined;
  }

  /** Logs out within a few seconds. Never throws. */
  async close(): Promise<void> {
    const { http, log } = this.#context;
    if (this.#path === undefined) {
      log.warn({}, "BMC session not closed: login response names no session");
      return;
    }
    try {
      const headers = { "x-auth-token": this.token };
      const answer = await http.exchange(
        { method: "DELETE", path: this.#path, headers },
        AbortSignal.timeout(CLEAN_UP_MS),
      );
      // A session that is already gone is the wanted result.
      if (answer.status >= 300 && ![401, 404].includes(answer.status)) {
        log.warn({ status: answer.status }, "BMC session not closed: BMC refused");
      }
    } catch (error) {
      log.warn({ reason: textOf(error) }, "BMC session not closed");
    }
  }
}

async function login(context: LoginContext, account: Account, signal: AbortSignal): Promise<LoginSession> {
  const body = { UserName: account.username, Password: account.password };
  let request: HttpRequest = { method: "POST", path: SESSIONS, body };
  let answer = await context.http.exchange(request, signal);
  if (NOT_SERVED.includes(answer.status)) {
    const path = await linkedSessions(context, signal);
    if (path !== undefined) {
      request = { ...request, path };
      answer = await context.http.exchange(request, signal);
    }
  }
  if (answer.status >= 300) {
    const error = answerError(answer, request, context.clock.now());
    // The status answers a login, whatever it says. An additional session that expires does no harm.
    throw new BmcError(error.class, error.message, {
      cause: error,
      refused: "login",
      ...defined({ retryAfterMs: error.retryAfterMs }),
    });
  }
  const token = answer.headers["x-auth-token"];
  if (!token)
    throw new BmcError("protocol", `${describe(request)} answered ${answer.status} without X-Auth-Token`);
  return LoginSession.of(context, token, sessionPath(answer, context.http.origin));
}

/** The path of sessions according to the service root, which everyone may read; undefined if it is the usual one. */
async function linkedSessions({ http }: LoginContext, signal: AbortSignal): Promise<string | undefined> {
  const answer = await http.exchange({ method: "GET", path: ROOT }, signal);
  const root = ServiceRoot.safeParse(answer.body);
  const link = root.success ? root.data.Links?.Sessions?.["@odata.id"] : undefined;
  const path = localPath(link, http.origin);
  return path?.replace(/\/$/, "") === SESSIONS ? undefined : path;
}

function sessionPath(answer: HttpAnswer, origin: string): string | undefined {
  const body = SessionResource.safeParse(answer.body);
  return (
    ownPath(answer.headers["location"], origin) ??
    localPath(body.success ? body.data["@odata.id"] : undefined, origin)
  );
}
