import { BmcClient, type BmcClientOptions } from "../../../shared/bmc/client.ts";
import { mergeHints } from "../../../shared/bmc/link/hint.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../shared/contract/connection.ts";
import type { ProviderName } from "../../../shared/contract/vocabulary.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { ActionTrace } from "../trace/action-trace.ts";

/** The clients of one action, counted and closed together, whatever its result. */
export class ActionClients {
  /** The one that chooses a provider itself. */
  readonly bmc: BmcClient;
  readonly #connection: Connection;
  readonly #log: Logger;
  readonly #trace: ActionTrace | undefined;
  readonly #single: BmcClient[] = [];
  #closed = false;

  constructor(connection: Connection, log: Logger, trace?: ActionTrace) {
    this.#connection = connection;
    this.#log = log;
    this.#trace = trace;
    this.bmc = this.#client(connection, { log });
  }

  clientFor(provider: ProviderName): BmcClient {
    if (this.#closed) throw new BmcError("cancelled", "the action is over");
    const { hint: _, ...connection } = this.#connection;
    const only = { ...connection, providers: [provider] };
    const client = this.#client(only, { log: this.#log, retriesSilence: false });
    this.#single.push(client);
    return client;
  }

  /** The first that answered. */
  get provider(): ProviderName | undefined {
    return this.#all.find(({ provider }) => provider !== undefined)?.provider;
  }

  get roundTrips(): number {
    return this.#all.reduce((sum, { roundTrips }) => sum + roundTrips, 0);
  }

  /** Complete once they are closed. */
  get hint(): unknown {
    const learned = this.#single.map(({ hint }) => hint);
    return mergeHints(this.bmc.hint, learned);
  }

  /** Never throws. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#all.map((client) => client.close()));
  }

  #client(connection: Connection, options: BmcClientOptions): BmcClient {
    if (!this.#trace) return new BmcClient(connection, options);
    return this.#trace.watch(new BmcClient(connection, { ...options, tracer: this.#trace.tracer }));
  }

  get #all(): readonly BmcClient[] {
    return [this.bmc, ...this.#single];
  }
}
