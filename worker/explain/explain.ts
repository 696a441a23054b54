import { connectionGiven } from "../../shared/contract/given.ts";
import { parseImageReference } from "../../shared/contract/image-reference.ts";
import { RETRIES } from "../../shared/contract/retries.ts";
import { defined } from "../../shared/defined.ts";
import { type Action, namespaceOf } from "../core/action/action.ts";
import { hooksOf } from "../core/action/hooks.ts";
import type { LaunchTerms } from "../core/ports/runtime.ts";
import type { LabelledMachine } from "../document/labels.ts";
import type { Inventory } from "../machines/inventory.ts";
import { type ResolvedMachine, resolveMachine } from "../machines/resolve-machine.ts";
import { type Circumstances, decideFile, decideMachine, type Refusal, refusals } from "../policy/decide.ts";
import { matchesImagePattern } from "../policy/image-rule.ts";
import { containerRuleFor, launchTerms } from "../policy/launch-terms.ts";
import { EVERY_IMAGE, type Policy } from "../policy/policy.ts";
import { retriesAsked } from "../policy/retry-rule.ts";
import { agentProblem, tenantMachineProblem } from "../policy/tenant-rule.ts";
import { isTrusted, misspeltAction } from "../policy/trust-rule.ts";
import { volumeProblem } from "../policy/volume-rule.ts";
import type { ActionLibrary } from "../runtimes/action-library.ts";
import { refusalOf } from "../runtimes/host-refusal.ts";
import { refusedFields } from "../runtimes/kubernetes/refusal.ts";

interface RunOptions {
  /** The result of `settleTrust`. */
  readonly policy: Policy;
  readonly runtime: "docker" | "in-process" | "kubernetes" | "process";
}

interface TrustOptions extends RunOptions {
  readonly unsafeAnyImage: boolean;
}

export interface JudgeOptions extends RunOptions {
  readonly catalogue: ActionLibrary;
  readonly clock: Circumstances["clock"];
  readonly inventory: Inventory;
  readonly agentIdPattern: string;
}

export interface ExplainOptions extends JudgeOptions, TrustOptions {
  /** How containers run if the policy does not say. */
  readonly settings: Required<Omit<LaunchTerms, "privileged">>;
}

/** `rule` is a key of the policy, `machine` for the inventory, `input` for the action's own input, or `runtime`. */
export interface RuleFinding {
  readonly rule: string;
  /** One line. */
  readonly reason: string;
}

/** A value and its origin: an entry of the policy, such as `containers.0`, or `settings`. */
interface Chosen<Value> {
  readonly value: Value;
  readonly by: string;
}

export type ContainerTerms = {
  readonly [Name in Exclude<keyof LaunchTerms, "privileged">]-?: Chosen<Required<LaunchTerms>[Name]>;
} & { readonly privileged: boolean };

export interface Explanation {
  readonly machine?: string;
  readonly allowed: boolean;
  /** Every reason to deny it. */
  readonly refusals: readonly RuleFinding[];
  /** Whether its image receives BMC connections, and why. */
  readonly trust: RuleFinding & { readonly trusted: boolean };
  /** The entries that allow the action; only useful without refusals. */
  readonly grants: readonly RuleFinding[];
  /** Rules that would apply with another runtime. */
  readonly unenforced: readonly RuleFinding[];
  /** Absent without containers. */
  readonly container?: ContainerTerms;
}

/** Applies all rules to an action without running it. */
export async function explain(action: Action, options: ExplainOptions): Promise<Explanation> {
  const { policy, runtime } = options;
  const { located, refused } = await judgeWhole(action, options);
  const machine = located.ok && "machine" in located ? located.machine : undefined;
  const labelled =
    machine === undefined
      ? undefined
      : (options.inventory.find(machine, namespaceOf(action)) ?? { name: machine });
  return {
    allowed: refused.length === 0,
    refusals: refused,
    trust: explainTrust(action.image, options),
    grants: [...grantsOf(action, labelled, options), ...waitOf(located, policy)],
    unenforced: hasContainers(runtime) ? [] : unenforcedFor(action, policy, runtime),
    ...defined({
      machine,
      container: hasContainers(runtime) ? containerTerms(action, options) : undefined,
    }),
  };
}

/** Finds every reason why an action cannot succeed that is known before anything is launched. */
export async function refusalsBefore(action: Action, options: JudgeOptions): Promise<readonly RuleFinding[]> {
  return (await judgeWhole(action, options)).refused;
}

async function judgeWhole(action: Action, options: JudgeOptions) {
  const judged = await judge(action, options);
  const refused = [...judged.against, ...(await againstHooks(action, judged, options))];
  return { located: judged.located, refused };
}

function hasContainers(runtime: ExplainOptions["runtime"]): boolean {
  return runtime === "docker" || runtime === "kubernetes";
}

interface Findings {
  readonly located: ResolvedMachine;
  readonly against: readonly RuleFinding[];
}

async function judge(
  action: Action,
  { policy, catalogue, clock, inventory, agentIdPattern, runtime }: JudgeOptions,
): Promise<Findings> {
  let byPolicy: Refusal | undefined;
  const located = resolveMachine(action, inventory, agentIdPattern, (machine) => {
    const decision = decideMachine(policy, action, machine);
    if (!decision.allowed) byPolicy ??= { rule: decision.rule, reason: decision.reason };
    return decision;
  });
  const against: RuleFinding[] = [...refusals(policy, { catalogue, clock }, action)];
  const name = parseImageReference(action.image)?.name ?? "";
  if (!located.ok) {
    const found = located.reason === byPolicy?.reason ? byPolicy : ofMachine(located.reason);
    // A namespace without any permission has none for this machine either.
    if (!against.some(({ rule }) => rule === found.rule)) against.push(found);
  }
  if ("paused" in located && located.paused !== undefined && policy.pausedMachines === "fail") {
    against.push({ rule: "pausedMachines", reason: located.paused });
  }
  if (runtime === "kubernetes") {
    const terms = launchTerms(policy, action.image);
    against.push(...refusedFields({ action, terms }).map((reason) => ({ rule: "runtime", reason })));
  } else if (runtime !== "docker") against.push(...(await refusedByRuntime(action, policy)));
  // A flag that no action has is already one of the policy's findings.
  const isKnown = !against.some(({ rule }) => rule === "environment");
  const found = await inputProblems(action, policy, catalogue);
  const wrong = found.filter((reason) => isKnown || !reason.startsWith("unknown flag"));
  against.push(...wrong.map((reason) => ({ rule: "input", reason })));
  if (!hasContainers(runtime) && wrong.length === 0 && !catalogue.names().includes(name)) {
    against.push({
      rule: "runtime",
      reason: `the ${runtime} runtime runs this worker's own actions only, not ${action.image}`,
    });
  }
  return { located, against };
}

/** Problems of the requested action and its input. Only the image knows the input of other projects' actions. */
async function inputProblems(
  action: Action,
  policy: Policy,
  catalogue: ActionLibrary,
): Promise<readonly string[]> {
  const { image } = action;
  const meant = misspeltAction(policy, catalogue, image);
  if (meant !== undefined) return [`${image} is not an action of this release: did you mean ${meant}?`];
  const own = await catalogue.find(parseImageReference(image)?.name ?? "");
  const isAnswered = action.command.some((word) => PRINTED.test(word));
  return own && !isAnswered ? own.problems(action) : [];
}

/** Arguments that request help or the version, for which an action needs no input. */
const PRINTED = /^(-h|--help|-V|--version)$/;

function waitOf(located: ResolvedMachine, { pausedMachines }: Policy): readonly RuleFinding[] {
  const paused = "paused" in located ? located.paused : undefined;
  if (paused === undefined || pausedMachines === "fail") return [];
  return [{ rule: "pausedMachines", reason: `it waits, because ${paused}` }];
}

/** Problems of the hooks. They have other arguments and must use the same machine. */
async function againstHooks(
  action: Action,
  { located, against }: Findings,
  options: JudgeOptions,
): Promise<readonly RuleFinding[]> {
  const found: RuleFinding[] = [];
  for (const { name, action: hook } of hooksOf(action)) {
    const other = await judge(hook, options);
    const further = other.against.filter(({ reason }) => !against.some((same) => same.reason === reason));
    if (located.ok && other.located.ok && lockKeyIn(located) !== lockKeyIn(other.located)) {
      further.push(ofMachine("is for another machine than the action"));
    }
    found.push(...further.map(({ rule, reason }) => ({ rule, reason: `${name}: ${reason}` })));
  }
  return found;
}

function lockKeyIn(located: ResolvedMachine): string | undefined {
  return "lockKey" in located ? located.lockKey : undefined;
}

function ofMachine(reason: string): RuleFinding {
  return { rule: "machine", reason };
}

async function refusedByRuntime(action: Action, policy: Policy): Promise<readonly RuleFinding[]> {
  const refusal = await refusalOf(action, (file) => decideFile(policy, action, file));
  if (!refusal) return [];
  return [{ rule: refusal.class === "usage" ? "volumes" : "runtime", reason: refusal.reason }];
}

/** Whether an image receives BMC connections, and why. */
export function explainTrust(
  image: string,
  { policy, runtime, unsafeAnyImage }: TrustOptions,
): Explanation["trust"] {
  const receives = "it receives its machine's BMC connection";
  if (!hasContainers(runtime)) {
    const reason = `the ${runtime} runtime runs this worker's own actions only: ${receives}`;
    return { trusted: true, rule: "runtime", reason };
  }
  if (!isTrusted(policy, image)) {
    const reason = `${image} is not listed: it receives no BMC connection`;
    return { trusted: false, rule: "trustedImages", reason };
  }
  if (unsafeAnyImage) {
    return { trusted: true, rule: "--unsafe-any-image", reason: `every image is trusted: ${receives}` };
  }
  const { trustedImages = [] } = policy;
  const index = fittingPattern(image, trustedImages);
  const reason = `${trustedImages[index]} matches ${image}: ${receives}`;
  return { trusted: true, rule: `trustedImages.${index}`, reason };
}

function fittingPattern(image: string, patterns: readonly string[]): number {
  const reference = parseImageReference(image);
  return reference ? patterns.findIndex((pattern) => matchesImagePattern(pattern, reference)) : -1;
}

/** The entries that allow what the action asks for. */
function grantsOf(
  action: Action,
  machine: LabelledMachine | undefined,
  { catalogue, policy }: ExplainOptions,
): readonly RuleFinding[] {
  const { images = EVERY_IMAGE, volumes, tenants = [], agents = [] } = policy;
  const image = fittingPattern(action.image, images);
  const namespace = namespaceOf(action);
  const { retries = 0 } = retriesAsked(action, policy, catalogue) ?? {};
  const granted = (rule: string, index: number, reason: string): readonly RuleFinding[] =>
    index < 0 ? [] : [{ rule: `${rule}.${index}`, reason }];
  const forMachine = (asked: LabelledMachine): readonly RuleFinding[] => [
    ...granted(
      "tenants",
      tenants.findIndex((tenant) => !tenantMachineProblem(action, asked, [tenant])),
      `namespace ${namespace} may use machine ${asked.name}`,
    ),
    ...granted(
      "agents",
      agents.findIndex((agent) => !agentProblem(action, asked, [agent])),
      `agent ID ${action.agentId} may act on machine ${asked.name}`,
    ),
  ];
  return [
    ...granted("images", image, `${images[image]} matches ${action.image}`),
    ...(machine === undefined ? [] : forMachine(machine)),
    ...connectionGiven(action)
      .slice(0, 1)
      .map((name) => ({ rule: "ownConnections", reason: `${name} may be set` })),
    ...action.volumes.flatMap((volume) =>
      granted(
        "volumes",
        volumes.findIndex((rule) => !volumeProblem(volume, { ...policy, volumes: [rule] }, action)),
        `${volume} may be mounted`,
      ),
    ),
    ...granted(
      "networkNamespaces",
      policy.networkNamespaces.indexOf(action.networkNamespace ?? ""),
      `${action.networkNamespace} may be joined`,
    ),
    ...granted(
      "pidNamespaces",
      policy.pidNamespaces.indexOf(action.pidNamespace ?? ""),
      `${action.pidNamespace} may be joined`,
    ),
    ...(retries > 0 ? [{ rule: "maxRetries", reason: `${RETRIES} may be ${retries}` }] : []),
  ];
}

function containerTerms({ image }: Action, { policy, settings }: ExplainOptions): ContainerTerms {
  const rule = containerRuleFor(policy, image);
  const entry = `containers.${rule === undefined ? -1 : policy.containers.indexOf(rule)}`;
  const terms = launchTerms(policy, image);
  const chosen = <Value>(value: Value | undefined, setting: Value): Chosen<Value> =>
    value === undefined ? { value: setting, by: "settings" } : { value, by: entry };
  return {
    pull: chosen(terms.pull, settings.pull),
    memoryBytes: chosen(terms.memoryBytes, settings.memoryBytes),
    cpus: chosen(terms.cpus, settings.cpus),
    pids: chosen(terms.pids, settings.pids),
    privileged: terms.privileged ?? false,
  };
}

function unenforcedFor({ image }: Action, policy: Policy, runtime: string): readonly RuleFinding[] {
  const rule = containerRuleFor(policy, image);
  const found: RuleFinding[] = [];
  if (rule !== undefined) {
    found.push({
      rule: `containers.${policy.containers.indexOf(rule)}`,
      reason: `not enforced: the ${runtime} runtime pulls no images and sets no limits`,
    });
  }
  if (launchTerms(policy, image).privileged) {
    found.push({ rule: "privileged", reason: `has no effect: the ${runtime} runtime has no containers` });
  }
  return found;
}
