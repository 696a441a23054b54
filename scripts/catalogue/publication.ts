import { z } from "zod";
import { defined } from "../../shared/defined.ts";
import type { Release } from "../changelog.ts";
import { registryProblem } from "../images/image-name.ts";
import type { Manifest } from "../manifest.ts";
import { iconUrl } from "../project-pages.ts";

/** The data that all packages of one version share. */
export interface Publication {
  readonly version: string;
  /** RFC 3339, UTC. */
  readonly createdAt: string;
  readonly registry: string;
  readonly license: string;
  readonly keywords: readonly string[];
  readonly releases: readonly Release[];
  readonly maintainers: readonly Contact[];
  readonly homeUrl?: string;
  /** The page of the source repository. */
  readonly sourceUrl?: string;
  readonly supportUrl?: string;
  readonly logoUrl?: string;
  readonly providerName?: string;
  /** The registry's name of this repository, for links between packages. */
  readonly repositoryName?: string;
  readonly repositoryId?: string;
}

interface Contact {
  readonly name: string;
  readonly email: string;
}

/** Command-line options, which override what the project contains. */
export interface PublicationOptions {
  readonly registry?: string | undefined;
  readonly homeUrl?: string | undefined;
  /** `Name <address>` each. */
  readonly maintainers?: readonly string[] | undefined;
  readonly provider?: string | undefined;
  readonly repositoryName?: string | undefined;
  readonly repositoryId?: string | undefined;
  /** `SOURCE_DATE_EPOCH`: seconds since 1970. */
  readonly sourceDateEpoch?: string | undefined;
  /** Date of the commit, RFC 3339. */
  readonly commitDate?: string | undefined;
}

export type Prepared =
  | { readonly ok: true; readonly publication: Publication }
  | { readonly ok: false; readonly problems: readonly string[] };

/** Collects the data, or reports everything that is missing or invalid. Unknown optional data is left out. */
export function preparePublication(
  manifest: Manifest,
  releases: readonly Release[],
  options: PublicationOptions,
): Prepared {
  const problems: string[] = [];
  const { version, license } = manifest;
  const release = releases.find((known) => known.version === version);
  if (release === undefined) problems.push(`CHANGELOG.md has no section for version ${version}`);
  else if (release.changes.length === 0)
    problems.push(`CHANGELOG.md says of ${version} nothing that changed`);

  const registry = options.registry ?? "";
  if (registry === "")
    problems.push("no registry: give --registry or IMAGE_REGISTRY, what image names begin with");
  else pushDefined(problems, registryProblem(registry));

  const createdAt = creationDate(release, options, problems);
  const homeUrl = options.homeUrl ?? manifest.homepage ?? manifest.repository;
  checkUrl("the home URL", homeUrl, problems);
  checkUrl("the repository of package.json", manifest.repository, problems);
  const maintainers = contacts(manifest, options, problems);
  const { repositoryId, repositoryName } = options;
  if (repositoryId !== undefined && !z.uuid().safeParse(repositoryId).success) {
    problems.push(`the repository ID ${JSON.stringify(repositoryId)} is not a UUID`);
  }
  if (repositoryName !== undefined && !/^[a-z][a-z0-9-]*$/.test(repositoryName)) {
    problems.push(
      `the repository name ${JSON.stringify(repositoryName)} is not of lower-case letters, digits, dashes`,
    );
  }
  if (release === undefined || createdAt === undefined || problems.length > 0) return { ok: false, problems };

  const supportUrl = z.url({ protocol: /^https?$/ }).safeParse(manifest.bugs).data;
  const providerName = options.provider ?? manifest.author?.name;
  return {
    ok: true,
    publication: {
      version,
      createdAt,
      registry,
      license,
      maintainers,
      keywords: manifest.keywords,
      releases,
      ...defined({
        homeUrl,
        supportUrl,
        logoUrl: iconUrl(manifest),
        providerName,
        repositoryName,
        repositoryId,
      }),
      ...defined({ sourceUrl: manifest.repository }),
    },
  };
}

/** The release's date, or one from the sources: never the current time, so that builds are reproducible. */
function creationDate(
  release: Release | undefined,
  { sourceDateEpoch, commitDate }: PublicationOptions,
  problems: string[],
): string | undefined {
  if (release?.date !== undefined) return `${release.date}T00:00:00Z`;
  if (sourceDateEpoch !== undefined) {
    if (/^\d{1,11}$/.test(sourceDateEpoch)) return rfc3339(Number(sourceDateEpoch) * 1000);
    problems.push(`SOURCE_DATE_EPOCH ${JSON.stringify(sourceDateEpoch)} is not a number of seconds`);
    return undefined;
  }
  if (commitDate !== undefined) return rfc3339(Date.parse(commitDate));
  problems.push("no date: CHANGELOG.md gives none, SOURCE_DATE_EPOCH is not set, and there is no commit");
  return undefined;
}

function rfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The given ones, else those of package.json with an address, which the registry requires. */
function contacts(manifest: Manifest, options: PublicationOptions, problems: string[]): readonly Contact[] {
  if (options.maintainers !== undefined && options.maintainers.length > 0) {
    return options.maintainers.flatMap((given) => {
      const [, name = "", email = ""] = /^\s*([^<]*?)\s*<([^>]*)>\s*$/.exec(given) ?? [];
      if (name !== "" && z.email().safeParse(email).success) return [{ name, email }];
      problems.push(`the maintainer ${JSON.stringify(given)} is not written as Name <address>`);
      return [];
    });
  }
  const known = manifest.maintainers ?? (manifest.author ? [manifest.author] : []);
  return known.flatMap(({ name, email }) => {
    if (email === undefined) return [];
    if (z.email().safeParse(email).success) return [{ name, email }];
    problems.push(`package.json gives ${name} the address ${JSON.stringify(email)}, which is none`);
    return [];
  });
}

function checkUrl(what: string, url: string | undefined, problems: string[]): void {
  if (url === undefined || z.url({ protocol: /^https?$/ }).safeParse(url).success) return;
  problems.push(`${what} ${JSON.stringify(url)} is not an http address`);
}

function pushDefined(problems: string[], problem: string | undefined): void {
  if (problem !== undefined) problems.push(problem);
}
