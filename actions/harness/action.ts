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
   * Creates another client for a single provider, without what earlier clients have learned, to find out what answers now.
   * It does not retry when nothing answers. Like `bmc`, it is counted and closed when the action has ended.
   */
  clientFor(provider: ProviderName): BmcClient;
  readonly input: InputOf<Fields>;
  /** Whether to report what would be sent instead of changing anything. Reading is allowed. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** Removes the secrets of connection and input from what a BMC said. Log and message are redacted anyway. */
  readonly redact: Redactor;
  /** Names an input in an error message. */
  readonly nameInput: NameInput;
  /** Records the progress for the result of an action that is cancelled or times out. */
  progress(report: ActionReport): void;
}

/** The report of a successful action. Failures are thrown as `BmcError`s. */
export interface ActionReport<Data = unknown> {
  /** One line for people, without the provider: `off after 6.2 s (graceful)`. */
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
  /** Formats the data as a table for people; see `OUTPUT`. */
  table?(data: NoInfer<Data>): string;
}

/** Defines an action and infers the types of the input of `run`. */
export function defineAction<const Fields extends InputFields, Data = unknown>(
  action: Action<Fields, Data>,
): Action<Fields, Data> {
  return action;
}
