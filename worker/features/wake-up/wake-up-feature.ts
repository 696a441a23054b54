import { KINDS } from "../../kubernetes/client/kinds.ts";
import { type NeededRight, ruleOf } from "../../kubernetes/client/needed-right.ts";
import { inOtherCase, polledAgentIds } from "../../machines/agent-id.ts";
import { runnableActions } from "../../template/actions.ts";
import { renderedTemplate } from "../../template/rendered-workflow.ts";
import type { FeatureDefinition, FeaturePart, FeatureServices, SharedConfig } from "../feature.ts";
import { type WakeUpPart, wakeUpSettings } from "./wake-up-settings.ts";

export const RIGHTS: readonly NeededRight[] = [
  {
    ...ruleOf(KINDS.workflow, ["list", "watch"]),
    scope: "watched",
    why: "to poll for an agent ID when a Workflow is addressed to it, and rarely otherwise",
  },
];

interface Config extends SharedConfig, WakeUpPart {
  readonly agentAttributes: boolean;
  readonly machineSources: readonly object[];
}

/** How long a starting worker waits for the list of Workflows. */
const READY_MS = 5_000;
const LOOK_MS = 20;

/** Polls for an idle agent ID only when a Workflow is addressed to it. */
export const wakeUp = {
  name: "wake-up",
  settings: wakeUpSettings,
  isUsed: (config) => config.wakeUp && config.server !== undefined,
  rights: (config) => (config.wakeUp ? [{ name: "wake-up", rights: RIGHTS }] : []),
  async check(config, { cluster }, signal) {
    const { checkWorkflows } = await import("./check-workflows.ts");
    return cluster ? checkWorkflows(cluster, config, signal) : [];
  },
  open: openWakeUp,
} satisfies FeatureDefinition<Config>;

async function openWakeUp({
  clock,
  config,
  control: { cluster },
  log,
  machines: { inventory },
  rules: { review },
}: FeatureServices<Config>): Promise<readonly FeaturePart[]> {
  if (!cluster) return [];
  const { WakeUp } = await import("./wake-up.ts");
  const watched = config.kubernetes?.watchNamespace ?? cluster.namespace;
  const workflows = new WakeUp({
    ...{ cluster, namespace: watched === "*" ? undefined : watched, clock, log },
    onPending(value, workflowId) {
      const template = renderedTemplate({ value, sourceOf: () => workflowId });
      if (template.ok) review.see(runnableActions(template.value.tasks, workflowId));
    },
  });
  const ready = async (stop: AbortSignal) => {
    const endMs = clock.monotonicMs() + READY_MS;
    while (workflows.isStarting && !stop.aborted && clock.monotonicMs() < endMs) {
      await clock.sleep(LOOK_MS, stop).catch(() => undefined);
    }
  };
  const agentIdsInOtherCase = () => inOtherCase(workflows.named(), polledAgentIds(config, inventory));
  const workflowProblems = () => [
    ...review.problems((workflowId) => workflows.isOpen(workflowId)),
    ...workflows.unchanged(),
  ];
  return [
    // Only a poll starts a workflow by a rule.
    { kind: "server", deletions: workflows, ...(!config.agentAttributes && { waking: workflows }) },
    { kind: "observer", observer: workflows.observer },
    { kind: "offers", offers: { hasWorkflow: (agentId) => workflows.hasOpen(agentId) } },
    {
      kind: "facts",
      worker: { workflowProblems },
      cluster: () => ({ agentIdsInOtherCase }),
    },
    { kind: "task", ready, run: (stop) => workflows.run(stop) },
  ];
}
