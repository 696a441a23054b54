import type { Clock } from "../../../shared/clock.ts";
import type { Logger } from "../../../shared/logger.ts";
import { textOf } from "../../../shared/text-of.ts";
import { Cluster } from "../../kubernetes/client/cluster.ts";
import { KINDS, keyOf, type ObjectName } from "../../kubernetes/client/kinds.ts";
import { WatchedObjects } from "../../kubernetes/client/watched-objects.ts";
import { type IdentityText, identityTextOf, selectionOf } from "./identity-secret.ts";
import type { SourceAccess, UseConnection } from "./inventory-source.ts";

export interface IdentityAccessOptions {
  /** The worker's own cluster. */
  readonly cluster: Cluster;
  readonly secret: ObjectName;
  /** The context of the kubeconfig to use. Default: the current one. */
  readonly contextName?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Connects with the kubeconfig in a Secret of the worker's namespace, and reconnects when the Secret changes. */
export class IdentityAccess implements SourceAccess {
  readonly #options: IdentityAccessOptions;
  readonly #called: string;
  #objects: WatchedObjects<IdentityText> | undefined;
  #problem: string | undefined;
  #applied: string | undefined;

  constructor(options: IdentityAccessOptions) {
    this.#options = options;
    this.#called = `Secret ${keyOf(options.secret)}`;
  }

  problem(): string | undefined {
    const { state, isSynced } = this.#objects ?? {};
    if (this.#problem !== undefined || this.#applied !== undefined || !state) return this.#problem;
    if (state.kind === "failing") return `${this.#called} cannot be read: ${state.error.message}`;
    return isSynced && this.#objects?.size === 0 ? `${this.#called} does not exist` : undefined;
  }

  async run(use: UseConnection, signal: AbortSignal): Promise<void> {
    const { cluster, secret, clock, log } = this.#options;
    let work: Promise<void> = Promise.resolve();
    const objects = new WatchedObjects<IdentityText>({
      cluster,
      kind: KINDS.secret,
      selection: selectionOf(secret),
      project: identityTextOf,
      onChange: (change) => {
        const found = change.kind === "set" ? change.value : undefined;
        work = work.then(() => (signal.aborted ? undefined : this.#apply(found, use)));
      },
      clock,
      log,
    });
    this.#objects = objects;
    await objects.run(signal);
    await work;
  }

  async #apply(found: IdentityText | undefined, use: UseConnection): Promise<void> {
    const { contextName, clock } = this.#options;
    if (!found) {
      this.#applied = undefined;
      this.#reject(`${this.#called} does not exist`);
      use({ problem: `${this.#called} does not exist` });
    } else if ("problem" in found) this.#reject(`${this.#called} ${found.problem}`);
    else if (found.text.reveal() !== this.#applied) {
      try {
        const cluster = await Cluster.openIdentity(found.text.reveal(), { contextName, clock });
        this.#applied = found.text.reveal();
        this.#problem = undefined;
        use({ cluster, close: () => cluster.close() });
      } catch (thrown) {
        this.#reject(`${this.#called}: ${textOf(thrown)}`);
      }
    } else this.#problem = undefined;
  }

  /** Records and logs a problem. An existing connection stays in use. */
  #reject(problem: string): void {
    if (problem !== this.#problem)
      this.#options.log.error({ reason: problem }, "machine source kubeconfig rejected");
    this.#problem = problem;
  }
}
