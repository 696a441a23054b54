import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../../shared/clock.ts";
import { type ReadTextFile, readTextFile } from "../../../../shared/read-text-file.ts";
import type { WatchedFile } from "../../../config/reload.ts";
import { ServerTls } from "../../../listener/server-tls.ts";
import { tokenIn } from "../../../listener/tokens.ts";
import { type Caller, unlimited } from "../caller.ts";
import type { ApiFiles } from "../pbnj-settings.ts";
import { parseJwtPublicKeys, parseJwtSecrets } from "./jwt-keys.ts";
import type { TokenRules } from "./verify-token.ts";

export interface ApiAccessOptions extends Pick<TokenRules, "issuer" | "audience"> {
  readonly files: ApiFiles;
  readonly clock: Clock;
  readonly readFile?: ReadTextFile;
}

/** A client certificate that an accepted authority has signed. */
export interface AcceptedCertificate {
  readonly commonName?: string;
}

/** Authentication and TLS of the API. Both reload their files. */
export class ApiAccess {
  readonly tls: ServerTls;
  readonly #options: ApiAccessOptions;
  #secrets: TokenRules["keys"] = [];
  #publicKeys: TokenRules["keys"] = [];

  /** Expects files with valid content. */
  constructor(options: ApiAccessOptions) {
    this.#options = options;
    const { files, readFile = readTextFile } = options;
    if (files.jwtSecret) this.#secrets = parseJwtSecrets(files.jwtSecret.text.reveal());
    if (files.jwtKeys) this.#publicKeys = parseJwtPublicKeys(files.jwtKeys.text);
    this.tls = new ServerTls(files, readFile);
  }

  get authenticates(): boolean {
    return this.#takesTokens || this.tls.asksForCertificates;
  }

  get #takesTokens(): boolean {
    return this.#secrets.length + this.#publicKeys.length > 0;
  }

  /**
   * Identifies the caller. Rejects with a `ConnectError`. A client with both a token and a certificate has the token's
   * limits.
   */
  async callerOf(
    authorization: string | undefined,
    certificate: AcceptedCertificate | undefined,
  ): Promise<Caller> {
    if (!this.authenticates) return unlimited();
    const token = this.#takesTokens ? tokenIn(authorization) : undefined;
    if (token !== undefined) return await this.#callerOfToken(token);
    // Unreadable credentials may have been meant to limit the client.
    const isUnreadable = this.#takesTokens && authorization !== undefined;
    if (certificate && !isUnreadable) return unlimited(certificate.commonName);
    throw new ConnectError(this.#whatIsMissing, Code.Unauthenticated);
  }

  watchedFiles(): readonly WatchedFile[] {
    const { jwtSecret, jwtKeys } = this.#options.files;
    const watched = [...this.tls.watchedFiles("pbnj")];
    if (jwtSecret) {
      const take = (text: string) => {
        this.#secrets = this.#replace(this.#secrets, parseJwtSecrets(text));
      };
      const file = { path: jwtSecret.path, text: jwtSecret.text.reveal() };
      watched.push(this.tls.watch("pbnj-jwt-secret-file", file, take));
    }
    if (jwtKeys) {
      const take = (text: string) => {
        this.#publicKeys = this.#replace(this.#publicKeys, parseJwtPublicKeys(text));
      };
      watched.push(this.tls.watch("pbnj-jwt-key-file", jwtKeys, take));
    }
    return watched;
  }

  /**
   * Applies new keys. A removed key ends all connections; otherwise, streams of its tokens and the limits of accepted
   * clients would remain.
   */
  #replace(before: TokenRules["keys"], after: TokenRules["keys"]): TokenRules["keys"] {
    if (!before.every(({ key }) => after.some((other) => other.key.equals(key)))) this.tls.revoke();
    return after;
  }

  async #callerOfToken(token: string): Promise<Caller> {
    const rules = { ...this.#options, keys: [...this.#secrets, ...this.#publicKeys] };
    // Most workers use no tokens.
    const { verifyToken } = await import("./verify-token.ts");
    return await verifyToken(token, rules, this.#options.clock.now());
  }

  get #whatIsMissing(): string {
    if (!this.#takesTokens) return "a client certificate is required";
    const token = "a token is required, as Authorization: Bearer";
    return this.tls.asksForCertificates ? `${token}, or a client certificate` : token;
  }
}
