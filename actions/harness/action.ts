import type { BmcClient } from "../../shared/bmc/client.ts";
import type { Logger } from "../../shared/logger.ts";
import type { InputFields, InputOf } from "./input.ts";

export interface ActionContext<Fields extends InputFields> {
  readonly bmc: BmcClient;
  readonly input: InputOf<Fields>;
  /** Read, and say what would be sent; send nothing that changes the machine. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/** What an action says when it succeeded; failures are thrown as `BmcError`s. */
export interface ActionReport {
  /** For people, one line, without the provider: `off after 6.2 s (graceful)`. */
  readonly summary: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly changed?: boolean;
  readonly data?: unknown;
}

export interface Action<Fields extends InputFields = InputFields> {
  /** The folder's and the image's name. */
  readonly name: string;
  /** One line, for `--help`, lists and the registry. */
  readonly summary: string;
  readonly input: Fields;
  /** Whether running it a second time leaves the machine as after the first. */
  readonly idempotent: boolean;
  /** Rules that span fields, as problems that name the environment variables. */
  check?(input: InputOf<NoInfer<Fields>>): readonly string[];
  run(context: ActionContext<NoInfer<Fields>>): Promise<ActionReport>;
}

/** Gives `run` the types of its own input. */
export function defineAction<const Fields extends InputFields>(action: Action<Fields>): Action<Fields> {
  return action;
}
