import * as z from "zod/mini";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import type { ErrorClass } from "../../../contract/error-class.ts";
import type { KeystoneOptions } from "../../../contract/ironic-options.ts";
import { connectionLine, type NameOption } from "../../../contract/name-option.ts";
import { defined } from "../../../defined.ts";
import { INPUT_BYTES } from "../../../input-limits.ts";
import { Secret } from "../../../secret.ts";
import { serviceEndpoint } from "../../http/endpoint.ts";
import { HttpConnection } from "../../http/http-connection.ts";
import { jsonIn } from "../../http/json-in.ts";
import { statusError } from "../../http/status-error.ts";
import type { ProviderContext } from "../../operations/provider.ts";

/** The answer with a token contains the whole service catalogue. */
const MAX_BODY_BYTES = INPUT_BYTES.keystoneAnswer;

const Refusal = z.object({ error: z.object({ message: z.string() }) });

export interface KeystoneLogin {
  readonly method: "password" | "application-credential";
  /** The user's name, or the ID of the application credential. */
  readonly username: string;
  readonly password: Secret;
}

/** Requests tokens from Keystone (Identity API v3, `POST /v3/auth/tokens`), each on its own connection. */
export class Keystone {
  readonly #options: KeystoneOptions;
  readonly #login: KeystoneLogin;
  readonly #connection: Connection;
  readonly #context: ProviderContext;
  #roundTrips = 0;

  constructor(
    options: KeystoneOptions,
    login: KeystoneLogin,
    connection: Connection,
    context: ProviderContext,
  ) {
    this.#options = options;
    this.#login = login;
    this.#connection = connection;
    this.#context = context;
  }

  get roundTrips(): number {
    return this.#roundTrips;
  }

  async requestToken(signal: AbortSignal): Promise<Secret> {
    const { url, fingerprint } = this.#options;
    const { tls, requestTimeoutMs } = this.#connection;
    const { clock, tracer, nameOption = connectionLine } = this.#context;
    const { fingerprint: _ironicsOwn, ...trusted } = tls;
    const own = { ...this.#connection, tls: { ...trusted, ...defined({ fingerprint }) } };
    const nameOwn: NameOption = (option, value) =>
      nameOption(option === "tls.fingerprint" ? "ironic.keystone.fingerprint" : option, value);
    const endpoint = serviceEndpoint(new URL(url), own, nameOwn);
    const http = new HttpConnection({
      ...endpoint,
      requestTimeoutMs,
      maxBodyBytes: MAX_BODY_BYTES,
      ...defined({ tracer }),
    });
    const doing = "POST /v3/auth/tokens";
    try {
      const answer = await http.send(
        {
          method: "POST",
          path: tokensPath(url),
          headers: { accept: "application/json", "content-type": "application/json" },
          body: JSON.stringify(tokenRequest(this.#options, this.#login)),
          doing,
          // An additional token does no harm.
          isWrite: false,
        },
        signal,
      );
      const token = answer.headers["x-subject-token"];
      if (answer.status === 201 && token) return headerSecret("Keystone's token", token, "protocol");
      if (answer.status === 201) throw new BmcError("protocol", `${doing} returned no token`);
      const said = Refusal.safeParse(jsonIn(answer.body.toString("utf8")));
      const words = said.success ? this.#redact(said.data.error.message) : "";
      throw statusError(answer, `Keystone: ${doing}`, words, { effect: undefined, nowMs: clock.now() });
    } finally {
      this.#roundTrips += http.roundTrips;
      await http.close();
    }
  }

  #redact(text: string): string {
    return text.replaceAll(this.#login.password.reveal(), "[redacted]");
  }
}

function tokensPath(url: string): string {
  const base = new URL(url).pathname.replace(/\/$/, "");
  return `${base.endsWith("/v3") ? base : `${base}/v3`}/auth/tokens`;
}

/** The request for a token. An application credential has its own scope. */
function tokenRequest(options: KeystoneOptions, { method, username, password }: KeystoneLogin): unknown {
  const secret = password.reveal();
  if (method === "application-credential") {
    const credential = { id: username, secret };
    return {
      auth: { identity: { methods: ["application_credential"], application_credential: credential } },
    };
  }
  const { userDomain, project, projectDomain } = options;
  const user = { name: username, domain: { name: userDomain }, password: secret };
  const scope =
    project === undefined
      ? { system: { all: true } }
      : { project: { name: project, domain: { name: projectDomain } } };
  return { auth: { identity: { methods: ["password"], password: { user } }, scope } };
}

/** A token for a header: one word of visible ASCII. */
export function headerSecret(what: string, text: string, errorClass: ErrorClass): Secret {
  if (/^[\x21-\x7e]{1,16384}$/.test(text)) return new Secret(text);
  throw new BmcError(errorClass, `${what} is not a token: it must be one word of plain ASCII`);
}
