import type { BmcClient } from "../../shared/bmc/client.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import type { Logger } from "../../shared/logger.ts";
import type { ActionDescription, InputFields, InputOf } from "./input/input.ts";

export interface ActionContext<Fields extends InputFields> {
  readonly bmc: BmcClient;
  /** The ways to the BMC that are configured, in order of preference. */
  readonly providers: readonly ProviderName[];
  /** Whether another provider may be used after TLS with one has failed (`tls.fallback`). */
  readonly tlsFallback: boolean;
  /**
   * Another client, for one of them alone and without what was learned before: to see what is there now. Silence is
   * an answer to it, and not tried again. Like `bmc` it is counted and closed when the action is over.
   */
  clientFor(provider: ProviderName): BmcClient;
  readonly input: InputOf<Fields>;
  /** Read, and say what would be sent; send nothing that changes the machine. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Notes how far the action is, which its result says when it is cancelled or its time is over. */
  progress(report: ActionReport): void;
}

/** What an action says when it succeeded; failures are thrown as `BmcError`s. */
export interface ActionReport<Data = unknown> {
  /** For people, one line, without the provider: `off after 6.2 s (graceful)`. */
  readonly summary: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly changed?: boolean;
  readonly data?: Data;
}

/** A failure that has something to show all the same, such as what was found or done before it. */
export class ActionFailure extends BmcError {
  readonly report: Omit<ActionReport, "summary">;

  constructor(error: BmcError, report: Omit<ActionReport, "summary">) {
    super(error.class, error.message, { cause: error, uncertain: error.uncertain });
    this.report = report;
  }
}

export interface Action<Fields extends InputFields = InputFields, Data = unknown>
  extends ActionDescription<Fields> {
  /** Whether running it a second time leaves the machine as after the first. */
  readonly idempotent: boolean;
  run(context: ActionContext<NoInfer<Fields>>): Promise<ActionReport<Data>>;
  /** The data for people, where a table says more than a line; see `OUTPUT`. */
  table?(data: NoInfer<Data>): string;
}

/** Gives `run` the types of its own input. */
export function defineAction<const Fields extends InputFields, Data = unknown>(
  action: Action<Fields, Data>,
): Action<Fields, Data> {
  return action;
}
