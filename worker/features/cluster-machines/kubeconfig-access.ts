import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { fileProblemOf, readTextFile } from "../../../shared/read-text-file.ts";
import { textOf } from "../../../shared/text-of.ts";
import { Cluster } from "../../kubernetes/client/cluster.ts";
import type { SourceAccess, UseConnection } from "./inventory-source.ts";

export interface KubeconfigAccessOptions {
  readonly path: string;
  /** The context to use. Default: the current one. */
  readonly contextName?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How often to check whether the file changed. */
const LOOK_MS = 10_000;

/** Connects with an operator's kubeconfig file, and reconnects when the file changes. */
export class KubeconfigAccess implements SourceAccess {
  readonly #options: KubeconfigAccessOptions;
  #problem: string | undefined;
  #seen: string | undefined;

  constructor(options: KubeconfigAccessOptions) {
    this.#options = options;
  }

  problem(): string | undefined {
    return this.#problem;
  }

  async run(use: UseConnection, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look(use);
      await this.#options.clock.sleep(LOOK_MS, signal).catch(() => undefined);
    }
  }

  async #look(use: UseConnection): Promise<void> {
    const { path, contextName, clock } = this.#options;
    let text: string;
    try {
      text = readTextFile(path);
    } catch (thrown) {
      this.#seen = undefined;
      this.#reject(`${path} ${fileProblemOf(thrown)}`);
      return;
    }
    if (text === this.#seen) return;
    try {
      const cluster = await Cluster.open({ kubeconfig: path, contextName, clock });
      this.#problem = undefined;
      use({ cluster, close: () => cluster.close() });
    } catch (thrown) {
      this.#reject(textOf(thrown));
    }
    this.#seen = text;
  }

  /** Records and logs a problem. An existing connection stays in use. */
  #reject(problem: string): void {
    if (problem !== this.#problem)
      this.#options.log.error({ reason: problem }, "machine source kubeconfig rejected");
    this.#problem = problem;
  }
}
