import type { Secret } from "../../../secret.ts";
import { BmcError } from "../../errors.ts";
import type { HttpAnswer } from "../http-client.ts";
import { basicAuthorization } from "./basic.ts";
import { type LoginContext, LoginSession } from "./session.ts";

export interface Account {
  readonly username: string;
  readonly password: Secret;
}

export type AuthMode = "basic" | "session";

/**
 * Credentials on every request, in one of two ways. A refused password is never sent a second time: accounts
 * lock. There are two exceptions, each taken once, neither of which repeats a refusal of the password:
 * a session that had worked and expired, and a service that proves to take no basic authentication at all.
 */
export class Authentication {
  readonly #context: LoginContext;
  readonly #account: Account | undefined;
  readonly #mayChange: boolean;
  #mode: AuthMode;
  #session: Promise<LoginSession> | undefined;
  /** Whether the current session has been accepted by a request. */
  #proven = false;

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
      throw error;
    }
  }

  /** Takes note of an answer. True when the request should be sent once more, with new headers. */
  renewed(answer: HttpAnswer): boolean {
    if (answer.status !== 401) {
      this.#proven = true;
      return false;
    }
    if (this.#mode === "session") {
      const expired = this.#proven && this.#session !== undefined;
      this.#proven = false;
      if (expired) this.#session = undefined;
      return expired;
    }
    const schemes = answer.headers["www-authenticate"];
    if (!this.#account || !this.#mayChange || schemes === undefined || /\bbasic\b/i.test(schemes))
      return false;
    this.#mode = "session";
    this.#proven = false;
    return true;
  }

  /** Logs out where there was a login. Never throws. */
  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    this.#session = undefined;
    await session?.close();
  }
}
