import { BmcError } from "../../../../contract/bmc-error.ts";
import { type Account, basicAuthorization } from "./basic-authorization.ts";
import type { HttpAnswer } from "./http-client.ts";
import { type LoginContext, LoginSession } from "./login-session.ts";

export type AuthMode = "basic" | "session";

/**
 * Credentials on every request, in one of two ways. A refused password is never sent a second time: accounts
 * lock. There are three exceptions, each taken once, none of which repeats a refusal of the password:
 * a session that had worked and expired, a service that proves to take no basic authentication at all, and
 * one whose session slots are all taken, where basic authentication may still do.
 */
export class Authentication {
  readonly #context: LoginContext;
  readonly #account: Account | undefined;
  readonly #mayChange: boolean;
  #mode: AuthMode;
  #session: Promise<LoginSession> | undefined;
  /** The session that is not to be ended. */
  #kept: Promise<LoginSession> | undefined;
  /** Whether the current session has been accepted by a request. */
  #proven = false;
  /** Some BMCs answer 403 to an expired session; one that does so to a new one as well means it. */
  #forbiddenTried = false;
  #basicRefused = false;
  /** Why basic authentication replaces a session, until it proves to be accepted. */
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

  /** The present way. */
  get mode(): AuthMode {
    return this.#mode;
  }

  /** The way that works, for the next call; undefined where it was not ours to choose. */
  get learned(): AuthMode | undefined {
    return this.#mayChange ? this.#mode : undefined;
  }

  /** The headers that carry the credentials; logs in first where that is needed. */
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

  /**
   * Logs in if the method in use needs it, which proves that the credentials are accepted.
   * Sends nothing otherwise.
   */
  async prove(signal: AbortSignal): Promise<void> {
    if (this.#mode === "session") await this.headers(signal);
  }

  /**
   * Takes note of an answer, and whether it refuses the credentials. True when the request should be sent once more, with new
   * headers.
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
      // It may still be alive, and then holds one of few slots.
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

  /** Whether the BMC does not know the session in use any more; undefined if that cannot be told. */
  async isForgotten(signal: AbortSignal): Promise<boolean | undefined> {
    const session = await this.#session?.catch(() => undefined);
    return session?.isForgotten(signal);
  }

  /** Logs out; the next request logs in anew. False, without a request, where no session is in use. */
  async endSession(): Promise<boolean> {
    if (this.#mode !== "session" || !this.#session) return false;
    await this.close();
    this.#proven = false;
    return true;
  }

  /** Leaves the session in use to its end on the BMC: something there lives no longer than it does. */
  keepSession(): void {
    this.#kept = this.#session;
  }

  /** Logs out where there was a login. Never throws. */
  async close(): Promise<void> {
    const opening = this.#session;
    this.#session = undefined;
    if (opening === this.#kept) return;
    const session = await opening?.catch(() => undefined);
    await session?.close();
  }
}
