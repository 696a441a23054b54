import { writeFile } from "node:fs/promises";

/** The name of that machine's BMC; nothing but the file knows it. */
export function hostNameOf(machine: string): string {
  return `${machine}.bmc.invalid`;
}

/** A hosts file whose names can be lost. */
export class NamesFile {
  readonly path: string;
  readonly #names: readonly string[];
  #lost = 0;

  constructor(path: string, names: readonly string[]) {
    this.path = path;
    this.#names = names;
  }

  /** Each time they are lost they are to be found again. */
  async lose(): Promise<void> {
    this.#lost += 1;
    await this.write();
  }

  async find(): Promise<void> {
    this.#lost -= 1;
    await this.write();
  }

  /** In place: the file itself is mounted. */
  async write(): Promise<void> {
    const names = ["localhost", ...(this.#lost > 0 ? [] : this.#names)];
    await writeFile(this.path, names.map((name) => `127.0.0.1 ${name}\n`).join(""));
  }
}
