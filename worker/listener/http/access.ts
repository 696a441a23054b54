import type { IncomingMessage } from "node:http";
import { TLSSocket } from "node:tls";
import { type ReadTextFile, readTextFile } from "../../../shared/read-text-file.ts";
import type { WatchedFile } from "../../config/reload.ts";
import { ServerTls } from "../server-tls.ts";
import { Tokens, tokenIn } from "../tokens.ts";
import type { HttpFiles } from "./http-settings.ts";

/** Whether a visitor may still read the answer in progress. */
export type Grant = () => boolean;

/** Authentication and TLS of the worker's pages. Both reload their files. */
export class Access {
  readonly tls: ServerTls;
  readonly #token: HttpFiles["token"];
  #tokens: Tokens | undefined;

  /** The files must contain valid content. */
  constructor(files: HttpFiles, readFile: ReadTextFile = readTextFile) {
    this.#token = files.token;
    this.#tokens = files.token && Tokens.parse(files.token.text.reveal());
    this.tls = new ServerTls(files, readFile);
  }

  get takesTokens(): boolean {
    return this.#token !== undefined;
  }

  /** The visitor's permission; undefined for a visitor who may read only health. */
  grantFor({ socket, headers }: IncomingMessage): Grant | undefined {
    const { asksForCertificates, authority } = this.tls;
    if (!this.takesTokens && !asksForCertificates) return () => true;
    if (asksForCertificates && socket instanceof TLSSocket && socket.authorized) {
      return () => this.tls.authority === authority;
    }
    const token = tokenIn(headers.authorization);
    const grant = () => token !== undefined && this.#tokens?.accepts(token) === true;
    return grant() ? grant : undefined;
  }

  watchedFiles(): readonly WatchedFile[] {
    const tlsFiles = this.tls.watchedFiles("http");
    if (!this.#token) return tlsFiles;
    const file = { path: this.#token.path, text: this.#token.text.reveal() };
    const take = (text: string) => {
      this.#tokens = Tokens.parse(text);
    };
    return [this.tls.watch("http-token-file", file, take), ...tlsFiles];
  }
}
