import { randomUUID } from "node:crypto";
import { systemClock } from "../../shared/clock.ts";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { formatSeconds } from "../../shared/duration.ts";
import { type Logger, silentLogger } from "../../shared/logger.ts";
import { textOf } from "../../shared/text-of.ts";
import { TimeoutReached } from "../../shared/timeout.ts";
import type { Action, Outcome } from "../core/action/action.ts";
import type { Runtime } from "../core/ports/runtime.ts";
import { explainTrust } from "../explain/explain.ts";
import type { CauseName } from "../findings/causes.ts";
import { type Finding, findingOf, okFinding, skippedFinding } from "../findings/finding.ts";
import type { RuntimeConfig } from "../main/core-settings.ts";
import { type Decision, decide } from "../policy/decide.ts";
import { launchTerms } from "../policy/launch-terms.ts";
import type { Policy } from "../policy/policy.ts";
import { Engine } from "../runtimes/docker/engine.ts";
import { EngineError } from "../runtimes/docker/engine-error.ts";
import { ImageStore } from "../runtimes/docker/image-store.ts";
import { launchName } from "../runtimes/launch-name.ts";
import type { SelfProgram } from "../runtimes/self-program.ts";
import { DOCTOR_AGENT_ID } from "./check-server.ts";

export interface ImageCheckOptions {
  /** The value of `--image`. */
  readonly image: string | undefined;
  readonly config: RuntimeConfig;
  readonly policy: Policy;
  readonly runtime: Runtime;
  readonly own: SelfProgram;
  readonly unsafeAnyImage: boolean;
  readonly timeoutMs: number;
}

/** Arguments that every action supports and that need no input. */
const HARMLESS = ["--help"];
/** The action to run if there is no `--image`. */
const OWN_ACTION = "check";
const REMOVE_MS = 20_000;

/** Runs `--help` of an action image like the worker, but never privileged, and removes the container. */
export async function checkImage(
  options: ImageCheckOptions,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { config, own, policy } = options;
  const hasContainers = config.kind === "docker" || config.kind === "kubernetes";
  if (options.image === undefined && hasContainers) {
    return [skippedFinding("action-image", "pass --image to run an action image")];
  }
  const image = options.image ?? OWN_ACTION;
  const name = parseImageReference(image)?.name;
  if (name === undefined) return [findingOf("image-name-wrong", `${JSON.stringify(image)} is no image`)];
  // The policy covers images of templates, not this installation's own action.
  const action = helpAction(image);
  const decision: Decision =
    options.image === undefined
      ? { allowed: true }
      : decide(policy, { catalogue: own.library, clock: systemClock }, action);
  // The `tenants` rule depends on the workflow.
  if (!decision.allowed && decision.rule !== "tenants") {
    return [findingOf("image-refused", decision.reason, { subject: image })];
  }
  const bound = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
  switch (config.kind) {
    case "docker": {
      const provided = await provide(image, config, options, bound);
      signal.throwIfAborted();
      if (!provided.ok) return [provided.finding];
      return [...provided.findings, ...(await run(image, provided.words, options, signal, bound))];
    }
    case "process":
    case "kubernetes":
      return run(image, "", options, signal, bound);
    case "in-process":
      return [
        own.library.names().includes(name)
          ? okFinding("action-image", `the action ${name} is there`, image)
          : findingOf("image-name-wrong", `there is no action ${name}`, { subject: image }),
      ];
    default:
      return config satisfies never;
  }
}

type DockerConfig = RuntimeConfig & { readonly kind: "docker" };
type Provided =
  | { readonly ok: true; readonly words: string; readonly findings: readonly Finding[] }
  | { readonly ok: false; readonly finding: Finding };

/** Pulls the image as settings and policy require. */
async function provide(
  image: string,
  config: DockerConfig,
  { policy, timeoutMs }: ImageCheckOptions,
  bound: AbortSignal,
): Promise<Provided> {
  const pull = launchTerms(policy, image).pull ?? config.pullPolicy;
  const engine = new Engine(config.engine);
  const failures: string[] = [];
  const images = new ImageStore({
    engine,
    log: warningsTo(failures),
    pullPolicy: pull,
    ...config.logins,
    pullTimeoutMs: timeoutMs,
  });
  const startedAt = performance.now();
  try {
    const present = await engine.inspectImage(image, bound);
    await images.provide(image, bound);
    const took = formatSeconds(performance.now() - startedAt);
    const findings = failures.map((reason) => findingOf("pull-failed", reason, { subject: image }));
    const isPulled = !present || (pull === "always" && failures.length === 0);
    return { ok: true, words: isPulled ? `pulled in ${took}, ` : "there already, ", findings };
  } catch (thrown) {
    const detail = textOf(thrown);
    return { ok: false, finding: findingOf(pullCause(thrown, pull), detail, { subject: image }) };
  } finally {
    images.close();
    await engine.close();
  }
}

function pullCause(thrown: unknown, pull: DockerConfig["pullPolicy"]): CauseName {
  if (isTimeout(thrown) || !(thrown instanceof EngineError)) return "image-timeout";
  if (isTimeout(thrown.cause)) return "image-timeout";
  switch (thrown.class) {
    case "auth":
      return "registry-refuses";
    case "usage":
      return pull === "never" ? "image-absent" : "image-not-found";
    default:
      return "registry-unreachable";
  }
}

async function run(
  image: string,
  provided: string,
  options: ImageCheckOptions,
  signal: AbortSignal,
  bound: AbortSignal,
): Promise<readonly Finding[]> {
  const { policy, runtime, timeoutMs } = options;
  const action = helpAction(image);
  const { privileged: _, ...terms } = launchTerms(policy, image);
  const { outcome, remove } = await runtime.run(
    {
      action,
      // The image was pulled above.
      terms: { ...terms, pull: "never" },
      timeoutMs,
      onLog: () => undefined,
    },
    bound,
  );
  const left = await remove(AbortSignal.timeout(REMOVE_MS)).then(
    () => [],
    (thrown: unknown) => [cleanupFailure(image, action, thrown)],
  );
  signal.throwIfAborted();
  const took = formatSeconds(outcome.stoppedAt.getTime() - outcome.startedAt.getTime());
  if (outcome.ok) {
    const ran = `${provided}ran with ${HARMLESS.join(" ")} in ${took}${trustWords(image, options)}`;
    return [okFinding("action-image", ran, image), ...left];
  }
  return [findingOf(runCause(outcome, bound), outcome.message, { subject: image }), ...left];
}

/** Describes the image's trust. Without containers, only this installation's own actions run, and they are trusted. */
function trustWords(image: string, { config, policy, unsafeAnyImage }: ImageCheckOptions): string {
  const { kind } = config;
  if (kind === "process" || kind === "in-process") return "";
  const { rule, reason } = explainTrust(image, { policy, runtime: kind, unsafeAnyImage });
  return `; ${rule}: ${reason}`;
}

function helpAction(image: string): Action {
  return {
    // Unique per run, and not the ID of any workflow.
    workflowId: `doctor/${randomUUID()}`,
    taskId: "doctor",
    agentId: DOCTOR_AGENT_ID,
    actionId: "doctor",
    name: "doctor",
    image,
    timeoutMs: 0,
    command: HARMLESS,
    volumes: [],
    environment: {},
  };
}

function runCause(outcome: Outcome, bound: AbortSignal): CauseName {
  if (outcome.timedOut || bound.aborted) return "image-timeout";
  // Exit code 137 means SIGKILL, which the worker did not send.
  if (outcome.exitCode === 137 || /^killed, out of memory/.test(outcome.message)) {
    return "container-out-of-memory";
  }
  if (outcome.exitCode !== undefined || outcome.killed) return "container-failed";
  return outcome.class === "usage" && /has no action for/.test(outcome.message)
    ? "image-name-wrong"
    : "container-refused";
}

function cleanupFailure(image: string, action: Action, thrown: unknown): Finding {
  const reason = textOf(thrown);
  const container = launchName(action);
  return findingOf("container-left", `${container}: ${reason}`, { subject: image, facts: { container } });
}

/** Collects the reasons of failed pulls that had no effect. */
function warningsTo(failures: string[]): Logger {
  return {
    ...silentLogger,
    warn: ({ error }) => {
      if (error !== undefined) failures.push(String(error));
    },
  };
}

function isTimeout(thrown: unknown): boolean {
  return thrown instanceof TimeoutReached || (thrown instanceof Error && thrown.name === "TimeoutError");
}
