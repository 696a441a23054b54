import { BmcError } from "../../../../contract/bmc-error.ts";
import type { PasswordTrial } from "../../../operations/user-port.ts";
import type { Authentication } from "./authentication.ts";
import { type Account, basicAuthorization } from "./basic-authorization.ts";
import { type LoginContext, LoginSession } from "./login-session.ts";
import { readRefusal } from "./refusal.ts";

/** A resource that every user who can log in may read: the privilege registry of DSP8011 requires only Login. */
const SYSTEMS = "/redfish/v1/Systems";

/** Tests passwords of other users with one login each, by the method that the connection itself uses. */
export class PasswordTrials {
  readonly #context: LoginContext;
  readonly #authentication: Authentication;

  constructor(context: LoginContext, authentication: Authentication) {
    this.#context = context;
    this.#authentication = authentication;
  }

  /** Sends one request with basic authentication, and two with sessions: login and logout. Throws transport failures. */
  async run(account: Account, signal: AbortSignal): Promise<PasswordTrial> {
    // Basic authentication cannot carry a user name with a colon (RFC 7617 section 2).
    const isBasic = this.#authentication.mode === "basic" && !account.username.includes(":");
    return isBasic ? await this.#basic(account, signal) : await this.#login(account, signal);
  }

  async #basic(account: Account, signal: AbortSignal): Promise<PasswordTrial> {
    const headers = { authorization: basicAuthorization(account) };
    const { status, body } = await this.#context.http.exchange(
      { method: "GET", path: SYSTEMS, headers },
      signal,
    );
    if (status < 300) return "accepted";
    if (status === 401) return "refused";
    // The password is correct, but only allows its own change (DSP0266, password change required).
    const mustChange = readRefusal({ body }).messageIds.some((id) => /PasswordChangeRequired/.test(id));
    return status === 403 && mustChange ? "accepted" : "unknown";
  }

  async #login(account: Account, signal: AbortSignal): Promise<PasswordTrial> {
    try {
      const session = await LoginSession.open(this.#context, account, signal);
      await session.close();
      return "accepted";
    } catch (thrown) {
      signal.throwIfAborted();
      const error = BmcError.from(thrown);
      if (error.class === "auth") return "refused";
      // Full session slots and unknown messages say nothing about the password.
      if (["bmc", "busy", "protocol", "unsupported"].includes(error.class)) return "unknown";
      throw error;
    }
  }
}
