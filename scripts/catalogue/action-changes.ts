import { catalogue } from "../../actions/catalogue.ts";
import type { Change, Release } from "../changelog.ts";

/** What the registry shows of a version's changes for one action. */
type ActionChange = Pick<Change, "kind" | "description">;

const FIRST: ActionChange = { kind: "added", description: "First version" };

/**
 * The entries of a version that name the action as code, and security fixes that name no action, which are in code that all
 * share. The oldest release is every action's first version.
 */
export function actionChanges(
  action: string,
  version: string,
  releases: readonly Release[],
): readonly ActionChange[] {
  const changes = releases.find((release) => release.version === version)?.changes ?? [];
  const own = changes.filter(
    ({ kind, code }) =>
      code.includes(action) || (kind === "security" && !code.some((name) => catalogue.includes(name))),
  );
  const first = releases.at(-1)?.version === version ? [FIRST] : [];
  return [...first, ...own.map(({ kind, description }) => ({ kind, description }))];
}
