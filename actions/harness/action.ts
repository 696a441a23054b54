import type { BmcClient } from "../../shared/bmc/client.ts";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import type { ProviderName } from "../../shared/contract/vocabulary.ts";
import type { Logger } from "../../shared/logger.ts";
import type { Redactor } from "../../shared/secret-forms.ts";
import type { ActionDescription, InputFields, InputOf, NameInput } from "./input/input.ts";

export interface ActionContext<Fields extends InputFields> {
  readonly bmc: BmcClient;
  /** The configured providers, in order of preference. */
  readonly providers: readonly ProviderName[];
  /** Whether another provider may be used after TLS with one has failed (`tls.fallback`). */
  readonly tlsFallback: boolean;
  /**
   * Another client, for one of them alone and without what was learned before: to see what is there now. Silence is
   * an answer to it, and not tried again. Like `bmc` it is counted and closed when the action has ended.
   */
  clientFor(provider: ProviderName): BmcClient;
  readonly input: InputOf<Fields>;
  /** Read and report what would be sent; change nothing. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Takes the secrets of connection and input out of what a BMC said; log and message are redacted anyway. */
  readonly redact: Redactor;
  /** Names an input, for errors. */
  readonly nameInput: NameInput;
  /** Records the progress, for the result of an action that is cancelled or times out. */
  progress(report: ActionReport): void;
}

/** The report of a success; failures are thrown as `BmcError`s. */
export interface ActionReport<Data = unknown> {
  /** For people, one line, without the provider: `off after 6.2 s (graceful)`. */
  readonly summary: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly changed?: boolean;
  readonly data?: Data;
}

/** A failure with a report of what was found or done before it. */
export class ActionFailure extends BmcError {
  readonly report: Omit<ActionReport, "summary">;

  constructor(error: BmcError, report: Omit<ActionReport, "summary">) {
    super(error.class, error.message, { cause: error, uncertain: error.uncertain });
    this.report = report;
  }
}

export interface Action<Fields extends InputFields = InputFields, Data = unknown>
  extends ActionDescription<Fields> {
  run(context: ActionContext<NoInfer<Fields>>): Promise<ActionReport<Data>>;
  /** The data as a table, for people; see `OUTPUT`. */
  table?(data: NoInfer<Data>): string;
}

/** Infers the types of the input of `run`. */
export function defineAction<const Fields extends InputFields, Data = unknown>(
  action: Action<Fields, Data>,
): Action<Fields, Data> {
  return action;
}
