import type { Release } from "../changelog.ts";
import { registryProblem } from "../images/image-name.ts";

/** The state that decides whether a release is possible. */
export interface Findings {
  readonly version: string;
  readonly tag: string;
  readonly registry: string | undefined;
  readonly push: boolean;
  /** What bundles, and what the images stand on. */
  readonly bases: readonly string[];
  readonly releases: readonly Release[];
  /** The checked out commit; undefined outside a repository. */
  readonly head: string | undefined;
  /** From `git status --porcelain`. */
  readonly changedFiles: readonly string[];
  /** The commit of the version's tag, if it exists. */
  readonly taggedCommit: string | undefined;
}

const PINNED = /@sha256:[0-9a-f]{64}$/;
const SHOWN_FILES = 5;

/** Every reason not to release; empty if there is none. */
export function releaseProblems(found: Findings): readonly string[] {
  const { version, tag, registry, releases, head, changedFiles, taggedCommit } = found;
  const problems: string[] = [];
  if (registry === undefined || registry === "") {
    problems.push("no registry: give --registry or IMAGE_REGISTRY, what image names begin with");
  } else {
    const problem = registryProblem(registry);
    if (problem !== undefined) problems.push(problem);
  }
  if (head === undefined) problems.push("this is no git repository with a commit: a release is made of one");
  if (changedFiles.length > 0) {
    const shown = changedFiles.slice(0, SHOWN_FILES).map((line) => line.slice(3));
    const more = changedFiles.length > SHOWN_FILES ? ` and ${changedFiles.length - SHOWN_FILES} more` : "";
    problems.push(`files differ from the commit: ${shown.join(", ")}${more}`);
  }
  const release = releases.find((known) => known.version === version);
  if (release === undefined) problems.push(`CHANGELOG.md has no section for version ${version}`);
  else if (found.push && release.date === undefined) {
    problems.push(`CHANGELOG.md says that ${version} is unreleased: give it its date before the push`);
  }
  const unpinned = found.push ? found.bases.filter((image) => !PINNED.test(image)) : [];
  for (const image of unpinned) {
    problems.push(
      `${image} has no digest, so it may be another image tomorrow: give it as ${image}@sha256:…`,
    );
  }
  if (taggedCommit !== undefined && taggedCommit !== head) {
    problems.push(`${tag} is released already, at commit ${taggedCommit.slice(0, 12)}: raise the version`);
  }
  return problems;
}
