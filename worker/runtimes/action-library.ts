import type { Provider } from "../../shared/bmc/operations/provider.ts";
import type { StopSignal } from "../../shared/contract/exit-code.ts";
import type { GivenText } from "../../shared/contract/given.ts";
import { type ImageReference, parseImageReference } from "../../shared/contract/image-reference.ts";
import type { ActionResult } from "../../shared/contract/result.ts";
import { nearestName, suggestion } from "../../shared/nearest-name.ts";
import type { LogLine } from "../core/action/action.ts";

export interface InProcessRequest {
  /** The whole environment, which replaces the worker's own. */
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly stdin: string;
  /** Replaces the connection's providers. */
  readonly provider?: Provider | undefined;
  readonly onLog: (line: LogLine) => void;
  readonly signal: AbortSignal;
  /** The signal that aborted `signal`. */
  readonly stoppedBy: () => StopSignal;
}

export interface InProcessEnd {
  readonly exitCode: number;
  readonly result: ActionResult;
}

export interface InProcessAction {
  /** Whether running it twice leaves the machine as after the first run. */
  readonly idempotent: boolean;
  /** Problems of variables and flags that are visible without files and a connection. */
  problems(given: GivenText): Promise<readonly string[]>;
  run(request: InProcessRequest): Promise<InProcessEnd>;
}

export interface ActionLibrary {
  names(): readonly string[];
  inputNames(): readonly string[];
  idempotentNames(): readonly string[];
  find(name: string): Promise<InProcessAction | undefined>;
}

/** Suggests `, did you mean x?` if the image's name misspells an action; empty otherwise. */
export function suggestedAction({ name }: ImageReference, actions: readonly string[]): string {
  return actions.includes(name) ? "" : suggestion(name, actions);
}

/** Why a runtime that only has this project's actions cannot run an image. */
export function unknownImage(runtime: string, image: string, actions: readonly string[]): string {
  const name = parseImageReference(image)?.name;
  const nearest = name === undefined ? undefined : nearestName(name, actions);
  const advice = nearest === undefined ? "`pbnj-worker actions` lists them" : `did you mean ${nearest}?`;
  return `the ${runtime} runtime has no action for the image ${image}: ${advice}`;
}
