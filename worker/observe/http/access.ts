import type { IncomingMessage } from "node:http";
import { type SecureContextOptions, TLSSocket } from "node:tls";
import type { HttpFiles } from "../../config/named-files.ts";
import type { WatchedFile } from "../../config/reload.ts";
import { ServerTls, watchedFile } from "../../config/server-tls.ts";
import { Tokens, tokenIn } from "../../config/tokens.ts";
import { type ReadTextFile, readTextFile } from "../../document/read-text-file.ts";

/** Whether a visitor may still read the answer in progress. */
export type Grant = () => boolean;

/** Authentication and TLS of the worker's pages. Both reload their files. */
export class Access {
  readonly #token: HttpFiles["token"];
  readonly #serverTls: ServerTls;
  readonly #onChange = new Set<() => void>();
  #tokens: Tokens | undefined;

  /** Expects files with valid content. */
  constructor(files: HttpFiles, readFile: ReadTextFile = readTextFile) {
    this.#token = files.token;
    this.#tokens = files.token && Tokens.parse(files.token.text.reveal());
    this.#serverTls = new ServerTls(files, readFile, this.#changed);
  }

  /** Undefined for plain HTTP. */
  get tls(): SecureContextOptions | undefined {
    return this.#serverTls.options;
  }

  get asksForCertificates(): boolean {
    return this.#serverTls.asksForCertificates;
  }

  get takesTokens(): boolean {
    return this.#token !== undefined;
  }

  /** Changes when connections with accepted client certificates must end. */
  get authority(): object {
    return this.#serverTls.authority;
  }

  onChange(listener: () => void): void {
    this.#onChange.add(listener);
  }

  /** Undefined for a visitor who may read only health. */
  grantFor({ socket, headers }: IncomingMessage): Grant | undefined {
    if (!this.takesTokens && !this.asksForCertificates) return () => true;
    if (this.asksForCertificates && socket instanceof TLSSocket && socket.authorized) {
      const authority = this.authority;
      return () => this.authority === authority;
    }
    const token = tokenIn(headers.authorization);
    const grant = () => token !== undefined && this.#tokens?.accepts(token) === true;
    return grant() ? grant : undefined;
  }

  watchedFiles(): readonly WatchedFile[] {
    const tlsFiles = this.#serverTls.watchedFiles("http");
    if (!this.#token) return tlsFiles;
    const file = { path: this.#token.path, text: this.#token.text.reveal() };
    const take = (text: string) => {
      this.#tokens = Tokens.parse(text);
    };
    return [watchedFile("http-token-file", file, take, this.#changed), ...tlsFiles];
  }

  readonly #changed = (): void => {
    for (const listener of this.#onChange) listener();
  };
}
