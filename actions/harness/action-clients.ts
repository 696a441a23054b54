import { BmcClient } from "../../shared/bmc/client.ts";
import { BmcError } from "../../shared/bmc/errors.ts";
import { mergeHints } from "../../shared/bmc/hint.ts";
import type { Connection } from "../../shared/contract/connection.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import type { Logger } from "../../shared/logger.ts";

/** The clients of one action, counted and closed together, whatever the action comes to. */
export class ActionClients {
  /** The one that chooses a provider itself. */
  readonly bmc: BmcClient;
  readonly #connection: Connection;
  readonly #log: Logger;
  readonly #single: BmcClient[] = [];
  #closed = false;

  constructor(connection: Connection, log: Logger) {
    this.#connection = connection;
    this.#log = log;
    this.bmc = new BmcClient(connection, { log });
  }

  /** See `ActionContext.clientFor`. */
  clientFor(provider: ProviderName): BmcClient {
    if (this.#closed) throw new BmcError("cancelled", "the action is over");
    const { hint: _, ...connection } = this.#connection;
    const only = { ...connection, providers: [provider] };
    const client = new BmcClient(only, { log: this.#log, retriesSilence: false });
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

  get #all(): readonly BmcClient[] {
    return [this.bmc, ...this.#single];
  }
}
