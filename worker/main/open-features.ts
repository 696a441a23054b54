import { defined } from "../../shared/defined.ts";
import type { SeenAction } from "../core/action/observer.ts";
import type { FeaturePart, FeatureServices, Offers } from "../features/feature.ts";
import type { ClusterFacts, WorkerFacts } from "../features/shared/facts.ts";
import type { WorkerObserver } from "../features/shared/observer.ts";
import type { LeaderFacts } from "../kubernetes/leader/leader-election.ts";
import { FEATURES, type WorkerConfig } from "./settings.ts";

type PartOf<Kind> = Extract<FeaturePart, { readonly kind: Kind }>;

/** The services of a feature, except those that features themselves add. */
interface Services extends Omit<FeatureServices<WorkerConfig>, "offers"> {
  /** The worker's observers, to which those of features are added. */
  readonly seeing: WorkerObserver[];
}

/** The parts that features add to a worker, in the order of the features. */
export class FeatureParts {
  readonly #parts: readonly FeaturePart[];

  constructor(parts: readonly FeaturePart[]) {
    this.#parts = parts;
  }

  of<Kind extends FeaturePart["kind"]>(kind: Kind): readonly PartOf<Kind>[] {
    return this.#parts.filter((part): part is PartOf<Kind> => part.kind === kind);
  }

  get offers(): Offers {
    return Object.assign({}, ...this.of("offers").map(({ offers }) => offers));
  }

  get facts(): Partial<WorkerFacts> {
    return Object.assign({}, ...this.of("facts").map(({ worker }) => worker));
  }

  clusterFacts(leader: LeaderFacts | undefined): ClusterFacts {
    const found = this.of("facts").flatMap(({ cluster }) => cluster?.() ?? []);
    return {
      sources: [],
      unusableMachines: 0,
      ...Object.assign({}, ...found),
      problems: found.flatMap(({ problems = [] }) => problems),
      ...defined({ leader }),
    };
  }

  /** Variables that pass the trace to an action. */
  environmentOf(action: SeenAction): Readonly<Record<string, string>> {
    for (const { environmentOf } of this.of("runtime")) if (environmentOf) return environmentOf(action);
    return {};
  }
}

/** Opens the features that the settings use, in the order of the table: each one sees machines and offers of those before it. */
export async function openFeatures({ seeing, ...services }: Services): Promise<FeatureParts> {
  const parts: FeaturePart[] = [];
  const opened = new FeatureParts(parts);
  for (const definition of FEATURES) {
    if (!definition.isUsed(services.config)) continue;
    for (const part of await definition.open({ ...services, offers: opened.offers })) {
      parts.push(part);
      if (part.kind === "observer") seeing.push(part.observer);
      if (part.kind === "machines") services.machines.inventory.join(part.inventory);
    }
  }
  return opened;
}
