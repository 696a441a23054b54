import type { SecureContextOptions } from "node:tls";
import { defined } from "../../shared/defined.ts";
import type { Checked } from "../../shared/document/problem.ts";
import type { LogFields } from "../../shared/logger.ts";
import { FileProblem, fileProblemOf, type ReadTextFile } from "../../shared/read-text-file.ts";
import { belongTogether, certificates, type NamedText, privateKey } from "../config/pem.ts";
import type { WatchedFile } from "../config/reload.ts";
import type { TlsFiles } from "../config/tls-files.ts";

/** Certificate, key and client authorities of a served address. They reload. */
export class ServerTls {
  readonly #files: TlsFiles;
  readonly #readFile: ReadTextFile;
  readonly #onChange = new Set<() => void>();
  #options: SecureContextOptions | undefined;
  /** Replaced by a new object for each new CA, and whenever a key is no longer accepted. */
  #authority: object = {};

  /** The files must contain valid content. */
  constructor(files: TlsFiles, readFile: ReadTextFile) {
    this.#files = files;
    this.#readFile = readFile;
    const { certificate, key, ca } = files;
    this.#options = certificate &&
      key && {
        cert: certificate.text,
        key: key.text.reveal(),
        ...defined({ ca: ca?.text }),
        minVersion: "TLSv1.2",
      };
  }

  /** The TLS options; undefined without TLS. */
  get options(): SecureContextOptions | undefined {
    return this.#options;
  }

  get asksForCertificates(): boolean {
    return this.#files.ca !== undefined;
  }

  /** Changes when connections that were accepted before must end. */
  get authority(): object {
    return this.#authority;
  }

  /** Ends the connections that were accepted so far, because their credentials are no longer valid. */
  revoke(): void {
    this.#authority = {};
  }

  /** Adds a listener, which is also called for changes of the files that `watch` was given. */
  onChange(listener: () => void): void {
    this.#onChange.add(listener);
  }

  watchedFiles(address: "http" | "pbnj"): readonly WatchedFile[] {
    const { certificate, key, ca } = this.#files;
    const watched: WatchedFile[] = [];
    if (certificate && key) {
      // The other file of the pair may have changed as well and is reloaded next.
      const takeCertificate = (text: string) => this.#takePair(text, this.#readFile(key.path), key.path);
      const takeKey = (text: string) =>
        this.#takePair(this.#readFile(certificate.path), text, certificate.path);
      watched.push(
        this.watch(`${address}-cert-file`, certificate, takeCertificate),
        this.watch(`${address}-key-file`, { path: key.path, text: key.text.reveal() }, takeKey),
      );
    }
    if (ca) {
      const take = (text: string) => {
        this.#options = { ...this.#options, ca: certificates(text) };
        this.revoke();
      };
      watched.push(this.watch(`${address}-client-ca-file`, ca, take));
    }
    return watched;
  }

  #takePair(cert: string, key: string, other: string): void {
    if (!belongTogether(certificates(cert), privateKey(key))) {
      throw new FileProblem(`does not belong to ${other}`);
    }
    this.#options = { ...this.#options, cert, key };
  }
  /** Returns a watched file. `takeText` applies a changed text, or throws a `FileProblem`. */
  watch(name: WatchedFile["name"], { path, text }: NamedText, takeText: (text: string) => void): WatchedFile {
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
