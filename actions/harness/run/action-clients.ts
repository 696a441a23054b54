import { BmcClient, type BmcClientOptions } from "../../../shared/bmc/client.ts";
import { mergeHints } from "../../../shared/bmc/link/hint.ts";
import type { LastWrite } from "../../../shared/bmc/operations/access.ts";
import type { Clock } from "../../../shared/clock.ts";
import { BmcError } from "../../../shared/contract/bmc-error.ts";
import type { Connection } from "../../../shared/contract/connection.ts";
import type { ProviderName, SessionProvider } from "../../../shared/contract/vocabulary.ts";
import { defined } from "../../../shared/defined.ts";
import type { Logger } from "../../../shared/logger.ts";
import type { ActionTrace } from "../trace/action-trace.ts";

export interface ActionClientsOptions
  extends Pick<BmcClientOptions, "nameOption" | "provider" | "tap" | "busyMs"> {
  readonly clock: Clock;
  readonly log: Logger;
  readonly trace?: ActionTrace | undefined;
}

/** The clients of one action, which are counted and closed together. */
export class ActionClients {
  /** The client that chooses its provider itself. */
  readonly bmc: BmcClient;
  readonly #connection: Connection;
  readonly #options: ActionClientsOptions;
  readonly #single: BmcClient[] = [];
  #closed = false;

  constructor(connection: Connection, options: ActionClientsOptions) {
    this.#connection = connection;
    this.#options = options;
    this.bmc = this.#client(connection);
  }

  clientFor(provider: ProviderName): BmcClient {
    if (this.#closed) throw new BmcError("cancelled", "the action is over");
    const { hint: _, ...connection } = this.#connection;
    const only = { ...connection, providers: [provider] };
    const client = this.#client(only, { retriesSilence: false });
    this.#single.push(client);
    return client;
  }

  /** The first provider that answered. */
  get provider(): SessionProvider | undefined {
    return this.#all.find(({ provider }) => provider !== undefined)?.provider;
  }

  /** The latest write of all clients. */
  get lastWrite(): LastWrite | undefined {
    const writes = this.#all.flatMap(({ lastWrite }) => lastWrite ?? []);
    return writes.toSorted((one, other) => one.atMs - other.atMs).at(-1);
  }

  get roundTrips(): number {
    return this.#all.reduce((sum, { roundTrips }) => sum + roundTrips, 0);
  }

  /** The hint for the next action on the same BMC. Complete when the clients are closed. */
  get hint(): unknown {
    const learned = this.#single.map(({ hint }) => hint);
    return mergeHints(this.bmc.hint, learned);
  }

  /** Closes all clients. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#all.map((client) => client.close()));
  }

  #client(connection: Connection, more: BmcClientOptions = {}): BmcClient {
    const { clock, log, nameOption, provider, tap, busyMs, trace } = this.#options;
    const options = { clock, log, nameOption, provider, tap, ...defined({ busyMs }), ...more };
    if (!trace) return new BmcClient(connection, options);
    return trace.watch(new BmcClient(connection, { ...options, tracer: trace.tracer }));
  }

  get #all(): readonly BmcClient[] {
    return [this.bmc, ...this.#single];
  }
}
