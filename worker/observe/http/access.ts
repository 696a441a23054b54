import type { IncomingMessage } from "node:http";
import { type SecureContextOptions, TLSSocket } from "node:tls";
import { defined } from "../../../shared/defined.ts";
import type { Checked } from "../../../shared/document/problem.ts";
import type { LogFields } from "../../../shared/logger.ts";
import type { HttpFiles } from "../../config/named-files.ts";
import { belongTogether, certificates, privateKey } from "../../config/named-files.ts";
import type { WatchedFile } from "../../config/reload.ts";
import { Tokens, tokenIn } from "../../config/tokens.ts";
import {
  FileProblem,
  fileProblemOf,
  type ReadTextFile,
  readTextFile,
} from "../../document/read-text-file.ts";

/** Whether a visitor may still read the answer in progress. */
export type Grant = () => boolean;

/** Authentication and TLS of the worker's pages. Both reload their files. */
export class Access {
  readonly #files: HttpFiles;
  readonly #readFile: ReadTextFile;
  readonly #onChange = new Set<() => void>();
  #tokens: Tokens | undefined;
  #tls: SecureContextOptions | undefined;
  /** A new object for each new CA: certificates of an earlier one are no longer accepted. */
  #authority: object = {};

  /** Expects files with valid content. */
  constructor(files: HttpFiles, readFile: ReadTextFile = readTextFile) {
    this.#files = files;
    this.#readFile = readFile;
    const { token, certificate, key, clientCa } = files;
    this.#tokens = token && Tokens.parse(token.text.reveal());
    this.#tls = certificate &&
      key && {
        cert: certificate.text,
        key: key.text.reveal(),
        ...defined({ ca: clientCa?.text }),
        minVersion: "TLSv1.2",
      };
  }

  /** Undefined for plain HTTP. */
  get tls(): SecureContextOptions | undefined {
    return this.#tls;
  }

  get asksForCertificates(): boolean {
    return this.#files.clientCa !== undefined;
  }

  get takesTokens(): boolean {
    return this.#files.token !== undefined;
  }

  /** Changes when connections with accepted client certificates must end. */
  get authority(): object {
    return this.#authority;
  }

  onChange(listener: () => void): void {
    this.#onChange.add(listener);
  }

  /** Undefined for a visitor who may read only health. */
  grantFor({ socket, headers }: IncomingMessage): Grant | undefined {
    if (!this.takesTokens && !this.asksForCertificates) return () => true;
    if (this.asksForCertificates && socket instanceof TLSSocket && socket.authorized) {
      const authority = this.#authority;
      return () => this.#authority === authority;
    }
    const token = tokenIn(headers.authorization);
    const grant = () => token !== undefined && this.#tokens?.accepts(token) === true;
    return grant() ? grant : undefined;
  }

  watchedFiles(): readonly WatchedFile[] {
    const { token, certificate, key, clientCa } = this.#files;
    const watched: WatchedFile[] = [];
    if (token) {
      const take = (text: string) => {
        this.#tokens = Tokens.parse(text);
      };
      watched.push(this.#watched("http-token-file", token.path, token.text.reveal(), take));
    }
    if (certificate && key) {
      // The other file of the pair may have changed as well and is reloaded next.
      const takeCertificate = (text: string) => this.#takePair(text, this.#readFile(key.path), key.path);
      const takeKey = (text: string) =>
        this.#takePair(this.#readFile(certificate.path), text, certificate.path);
      watched.push(
        this.#watched("http-cert-file", certificate.path, certificate.text, takeCertificate),
        this.#watched("http-key-file", key.path, key.text.reveal(), takeKey),
      );
    }
    if (clientCa) {
      const take = (text: string) => {
        this.#tls = { ...this.#tls, ca: certificates(text) };
        this.#authority = {};
      };
      watched.push(this.#watched("http-client-ca-file", clientCa.path, clientCa.text, take));
    }
    return watched;
  }

  #takePair(cert: string, key: string, other: string): void {
    if (!belongTogether(certificates(cert), privateKey(key))) {
      throw new FileProblem(`does not belong to ${other}`);
    }
    this.#tls = { ...this.#tls, cert, key };
  }

  #watched(
    name: WatchedFile["name"],
    path: string,
    text: string,
    takeText: (text: string) => void,
  ): WatchedFile {
    const take = (changed: string): Checked<LogFields> => {
      try {
        takeText(changed);
      } catch (thrown) {
        return { ok: false, problems: [{ source: path, message: fileProblemOf(thrown) }] };
      }
      for (const listener of this.#onChange) listener();
      return { ok: true, value: {}, warnings: [] };
    };
    return { name, path, text, take };
  }
}
