import { rename, writeFile } from "node:fs/promises";

/** What an inventory says of one machine here. */
export interface ChaosMachine {
  readonly name: string;
  readonly protocol: "redfish" | "ipmi";
  readonly port: number;
  /** How it logs in to a Redfish BMC. */
  readonly auth: "basic" | "session";
  /** Fingerprint of the BMC's certificate; absent without TLS. */
  readonly fingerprint?: string | undefined;
}

/** One worker's inventory, which changes while it runs. */
export class InventoryFile {
  readonly path: string;
  readonly #passwordFile: string;
  readonly #machines: readonly ChaosMachine[];
  readonly #hostOf: (machine: string) => string;
  readonly #fingerprints = new Map<string, string>();
  readonly #out = new Map<string, number>();
  readonly #changes = new Map<string, number>();
  #broken = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    path: string,
    passwordFile: string,
    machines: readonly ChaosMachine[],
    hostOf: (machine: string) => string,
  ) {
    this.path = path;
    this.#passwordFile = passwordFile;
    this.#machines = machines;
    this.#hostOf = hostOf;
  }

  has(machine: string): boolean {
    return this.#machines.some(({ name }) => name === machine);
  }

  /** Each time it is taken out it is to be put back. */
  async takeOut(machine: string): Promise<void> {
    this.#out.set(machine, (this.#out.get(machine) ?? 0) + 1);
    await this.write();
  }

  async putBack(machine: string): Promise<void> {
    this.#out.set(machine, (this.#out.get(machine) ?? 1) - 1);
    await this.write();
  }

  /** Pins another certificate. */
  async pin(machine: string, fingerprint: string): Promise<void> {
    this.#fingerprints.set(machine, fingerprint);
    await this.write();
  }

  /** Another value for something that does not matter here. */
  async change(machine: string): Promise<void> {
    this.#changes.set(machine, (this.#changes.get(machine) ?? 0) + 1);
    await this.write();
  }

  async breakOff(): Promise<void> {
    this.#broken += 1;
    await this.write();
  }

  async repair(): Promise<void> {
    this.#broken -= 1;
    await this.write();
  }

  /** At once, as an editor's rename does; one writer after the other. */
  write(): Promise<void> {
    const written = this.#writing.then(() => this.#replace());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #replace(): Promise<void> {
    const machines = this.#machines
      .filter(({ name }) => (this.#out.get(name) ?? 0) === 0)
      .map((machine) => this.#entryOf(machine));
    const defaults = {
      credentials: { username: "admin", passwordFile: this.#passwordFile },
      connectTimeout: "2s",
    };
    // JSON is YAML as well.
    const text = JSON.stringify({ defaults, machines }, undefined, 1);
    const part = `${this.path}.part`;
    await writeFile(part, this.#broken > 0 ? text.slice(0, text.length / 2) : text);
    await rename(part, this.path);
  }

  #entryOf({ name, protocol, port, auth, fingerprint: pinned }: ChaosMachine) {
    const fingerprint = this.#fingerprints.get(name) ?? pinned;
    const seconds = 4 + ((this.#changes.get(name) ?? 0) % 2);
    const common = { name, host: this.#hostOf(name), providers: [protocol], requestTimeout: `${seconds}s` };
    return protocol === "redfish"
      ? {
          ...common,
          redfish: { port, scheme: fingerprint === undefined ? "http" : "https", auth },
          ...(fingerprint !== undefined && { tls: { fingerprint } }),
        }
      : { ...common, ipmi: { port } };
  }
}
