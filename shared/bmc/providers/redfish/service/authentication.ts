import { BmcError } from "../../../../contract/bmc-error.ts";
import { type Account, basicAuthorization } from "./basic-authorization.ts";
import type { HttpAnswer } from "./http-client.ts";
import { type LoginContext, LoginSession } from "./login-session.ts";

export type AuthMode = "basic" | "session";

/**
 * Adds credentials to every request in one of two ways. A refused password is never sent a second time, because accounts
 * lock. There are three exceptions, each used once, and none repeats a refusal of the password: a session that worked and
 * has expired, a service that proves to reject basic authentication in general, and one whose session slots are all in use,
 * where basic authentication may still work.
 */
export class Authentication {
  readonly #context: LoginContext;
  readonly #account: Account | undefined;
  readonly #mayChange: boolean;
  #mode: AuthMode;
  #session: Promise<LoginSession> | undefined;
  /** The session that must not be ended. */
  #kept: Promise<LoginSession> | undefined;
  /** Whether the current session has been accepted by a request. */
  #proven = false;
  /** Some BMCs answer 403 for an expired session. If a new session gets it as well, it is a real refusal. */
  #forbiddenTried = false;
  #basicRefused = false;
  /** Why basic authentication replaces a session; set until it is accepted. */
  #slotsFull: BmcError | undefined;

  constructor(
    context: LoginContext,
    account: Account | undefined,
    choice: AuthMode | "auto",
    known: AuthMode | undefined,
  ) {
    this.#context = context;
    this.#account = account;
    this.#mayChange = choice === "auto";
    this.#mode = choice === "auto" ? (known ?? "basic") : choice;
    if (choice === "session" && !account) {
      throw new BmcError("usage", "redfish.auth session needs a user name and a password");
    }
  }

  /** The current method. */
  get mode(): AuthMode {
    return this.#mode;
  }

  /** The method that works, for the next call; undefined if the user has set it. */
  get learned(): AuthMode | undefined {
    return this.#mayChange ? this.#mode : undefined;
  }

  /** The headers with the credentials. Logs in first if that is necessary. */
  async headers(signal: AbortSignal): Promise<Record<string, string>> {
    if (!this.#account) return {};
    if (this.#mode === "basic") return { authorization: basicAuthorization(this.#account) };
    this.#session ??= LoginSession.open(this.#context, this.#account, signal);
    const opening = this.#session;
    try {
      return { "x-auth-token": (await opening).token };
    } catch (error) {
      if (this.#session === opening) this.#session = undefined;
      const full = error instanceof BmcError && error.class === "busy" && !error.uncertain;
      if (!full || !this.#mayChange || this.#basicRefused) throw error;
      this.#slotsFull = error;
      this.#mode = "basic";
      return { authorization: basicAuthorization(this.#account) };
    }
  }

  /** Logs in if the current method requires it, which proves that the credentials are accepted. Otherwise sends nothing. */
  async prove(signal: AbortSignal): Promise<void> {
    if (this.#mode === "session") await this.headers(signal);
  }

  /**
   * Learns from an answer and from whether it refuses the credentials. Returns true if the request should be sent once more
   * with new headers.
   */
  async renewed(answer: HttpAnswer, isRefused: boolean): Promise<boolean> {
    const { status } = answer;
    if (!isRefused || (status !== 401 && status !== 403)) {
      this.#proven = true;
      this.#slotsFull = undefined;
      return false;
    }
    return this.#mode === "session" ? await this.#sessionRefused(status) : this.#basicMayBeReplaced(answer);
  }

  async #sessionRefused(status: 401 | 403): Promise<boolean> {
    if (!this.#proven || this.#session === undefined) return false;
    if (status === 403) {
      if (this.#forbiddenTried) return false;
      this.#forbiddenTried = true;
      // The session may still be alive and then uses one of few slots.
      await this.close();
    }
    this.#session = undefined;
    this.#proven = false;
    return true;
  }

  #basicMayBeReplaced(answer: HttpAnswer): boolean {
    if (answer.status !== 401) return false;
    if (this.#slotsFull) {
      const full = this.#slotsFull;
      this.#slotsFull = undefined;
      this.#mode = "session";
      this.#basicRefused = true;
      throw full;
    }
    const schemes = answer.headers["www-authenticate"];
    if (!this.#account || !this.#mayChange || schemes === undefined || /\bbasic\b/i.test(schemes))
      return false;
    this.#mode = "session";
    this.#basicRefused = true;
    this.#proven = false;
    return true;
  }

  /** Whether the BMC no longer knows the current session; undefined if that cannot be determined. */
  async isForgotten(signal: AbortSignal): Promise<boolean | undefined> {
    const session = await this.#session?.catch(() => undefined);
    return session?.isForgotten(signal);
  }

  /** Logs out; the next request logs in again. Returns false, without a request, if there is no session. */
  async endSession(): Promise<boolean> {
    if (this.#mode !== "session" || !this.#session) return false;
    await this.close();
    this.#proven = false;
    return true;
  }

  /** Leaves the current session open on the BMC, because something there ends with it. */
  keepSession(): void {
    this.#kept = this.#session;
  }

  /** Logs out if there was a login. Never throws. */
  async close(): Promise<void> {
    const opening = this.#session;
    this.#session = undefined;
    if (opening === this.#kept) return;
    const session = await opening?.catch(() => undefined);
    await session?.close();
  }
}
