import type { Action } from "../../actions/harness/action.ts";
import type { ActionReference } from "../../actions/harness/input/reference.ts";
import { defined } from "../../shared/defined.ts";
import { imageName, RELEASE_PLATFORMS, versionTag } from "../images/image-name.ts";
import { filePages } from "../project-pages.ts";
import { actionChanges } from "./action-changes.ts";
import { type PackageMetadata, PackageMetadata as Schema } from "./artifact-hub.ts";
import { displayName } from "./display-name.ts";
import { installText } from "./install-text.ts";
import type { Publication } from "./publication.ts";

/** Useful to readers of any action: the check of a BMC, and many tasks in one run. */
const RECOMMENDED = ["check", "run-tasks"];

/** One action's `artifacthub-pkg.yml`. */
export function packageMetadata(
  action: Pick<Action, "name" | "summary" | "idempotent">,
  reference: ActionReference,
  publication: Publication,
): PackageMetadata {
  const { version, registry, homeUrl, logoUrl, maintainers, providerName } = publication;
  const { name } = action;
  const changes = actionChanges(name, version, publication.releases);
  const image = imageName(registry, name, versionTag(version));
  const links = linksOf(name, publication);
  const recommendations = recommendationsOf(name, publication);
  return Schema.parse({
    version,
    name,
    // No category of the hub fits, and it would guess one.
    category: "skip-prediction",
    displayName: displayName(name),
    createdAt: publication.createdAt,
    description: action.summary,
    ...defined({ logoURL: logoUrl }),
    license: publication.license,
    ...defined({ homeURL: homeUrl }),
    appVersion: version,
    containersImages: [{ name, image, platforms: [...RELEASE_PLATFORMS] }],
    ...defined({
      containsSecurityUpdates: changes.some(({ kind }) => kind === "security") || undefined,
      prerelease: version.includes("-") || undefined,
    }),
    keywords: [...new Set([...publication.keywords, ...reference.keywords])].sort(),
    ...defined({ links: links.length === 0 ? undefined : links }),
    install: installText(name, image, reference),
    ...defined({
      changes: changes.length === 0 ? undefined : changes,
      maintainers: maintainers.length === 0 ? undefined : maintainers,
      provider: providerName === undefined ? undefined : { name: providerName },
      recommendations: recommendations.length === 0 ? undefined : recommendations,
    }),
    annotations: {
      "pbnj-worker/idempotent": String(action.idempotent),
      "pbnj-worker/reads-only": String(reference.readsOnly === true),
    },
  });
}

/** `source` and `support` are names that the hub recognizes. */
function linksOf(
  action: string,
  { version, sourceUrl, supportUrl }: Publication,
): PackageMetadata["links"] & object {
  const pages = sourceUrl && filePages(sourceUrl, version);
  const urls = {
    source: sourceUrl,
    support: supportUrl,
    documentation: pages && `${pages}/actions/${action}/README.md`,
    changelog: pages && `${pages}/CHANGELOG.md`,
  };
  return Object.entries(urls).flatMap(([name, url]) => (url ? [{ name, url }] : []));
}

function recommendationsOf(
  name: string,
  { repositoryName }: Publication,
): readonly { readonly url: string }[] {
  if (repositoryName === undefined) return [];
  return RECOMMENDED.filter((other) => other !== name).map((other) => ({
    url: `https://artifacthub.io/packages/tbaction/${repositoryName}/${other}`,
  }));
}
