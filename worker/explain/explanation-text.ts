import { formatTable } from "../../shared/table.ts";
import type { ContainerTerms, Explanation } from "./explain.ts";

export interface ExplainedAction extends Explanation {
  readonly task: string;
  readonly action: string;
  readonly agentId: string;
  readonly image: string;
}

/** A table with one line per rule. The action's name is on the first line of each action. */
export function explanationTable(explained: readonly ExplainedAction[]): string {
  const rows = explained.flatMap(({ task, action, machine = "-", ...explanation }) => {
    const said = findings(explanation);
    return said.map(([rule, reason], index) =>
      index === 0
        ? [task, action, machine, explanation.allowed ? "allowed" : "refused", rule, reason]
        : ["", "", "", "", rule, reason],
    );
  });
  return formatTable(["task", "action", "machine", "verdict", "rule", "why"], rows);
}

type Line = readonly [rule: string, reason: string];

function findings(explanation: Explanation): readonly Line[] {
  const { allowed, refusals, grants, trust, unenforced, container } = explanation;
  if (!allowed) {
    // The rule has its own column.
    return refusals.map((refusal) => [refusal.rule, refusal.reason.replace(`policy ${refusal.rule}: `, "")]);
  }
  return [
    // Without containers, only the worker's own actions run.
    ...[...(container ? [trust] : []), ...grants, ...unenforced].map(
      ({ rule, reason }): Line => [rule, reason],
    ),
    ...(container ? termLines(container) : []),
  ];
}

/** One line per origin. */
function termLines({ pull, memoryBytes, cpus, pids, privileged }: ContainerTerms): readonly Line[] {
  const terms: readonly Line[] = [
    [pull.by, `pull ${pull.value}`],
    [memoryBytes.by, `memory ${sizeText(memoryBytes.value)}`],
    [cpus.by, `cpus ${cpus.value}`],
    [pids.by, `pids ${pids.value}`],
  ];
  const grouped = Map.groupBy(terms, ([by]) => by);
  return [
    ...[...grouped].map(([by, lines]): Line => [by, lines.map(([, text]) => text).join(", ")]),
    ...(privileged ? [["privileged", "runs with every right on the worker's host"] satisfies Line] : []),
  ];
}

/** A size as operators write it: `256Mi`. */
function sizeText(bytes: number): string {
  const units = [
    ["Gi", 1_024 ** 3],
    ["Mi", 1_024 ** 2],
    ["Ki", 1_024],
  ] as const;
  const unit = units.find(([, size]) => bytes >= size && bytes % size === 0);
  return unit ? `${bytes / unit[1]}${unit[0]}` : String(bytes);
}
