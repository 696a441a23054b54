import { BmcError } from "../../../../contract/bmc-error.ts";
import type { PasswordTrial } from "../../../operations/user-port.ts";
import type { Authentication } from "./authentication.ts";
import { type Account, basicAuthorization } from "./basic-authorization.ts";
import { type LoginContext, LoginSession } from "./login-session.ts";
import { readRefusal } from "./refusal.ts";

/** Readable for every user who may log in: the privilege registry of DSP8011 requires only Login. */
const SYSTEMS = "/redfish/v1/Systems";

/** Tries passwords of other users out, each by one login in the way that the connection itself logs in. */
export class PasswordTrials {
  readonly #context: LoginContext;
  readonly #authentication: Authentication;

  constructor(context: LoginContext, authentication: Authentication) {
    this.#context = context;
    this.#authentication = authentication;
  }

  /** One request with basic authentication, two with sessions: in and out. Transport failures throw. */
  async run(account: Account, signal: AbortSignal): Promise<PasswordTrial> {
    // RFC 7617 section 2: a user name with a colon has no place in basic authentication.
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
    // DSP0266, password change required: the password is right, and all that it opens is its own change.
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
      // Full session slots or an unknown message say nothing about the password.
      if (["bmc", "busy", "protocol", "unsupported"].includes(error.class)) return "unknown";
      throw error;
    }
  }
}
