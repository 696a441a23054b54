import { posix } from "node:path";
import { EXAMPLE_REGISTRY } from "../action-readme/action-readme.ts";
import { versionTag } from "../images/image-name.ts";
import type { Publication } from "./publication.ts";

/** The path of a file of a commit or tag on each host. */
const FILE_PAGES: Readonly<Record<string, string>> = {
  "github.com": "blob",
  "gitlab.com": "-/blob",
  "bitbucket.org": "src",
};

/**
 * An action's README for the registry, which has no other file of the project: images are those of the release, and relative
 * links point to the source repository or, without a known page, become plain text.
 */
export function packageReadme(
  readme: string,
  action: string,
  { registry, version, sourceUrl }: Pick<Publication, "registry" | "version" | "sourceUrl">,
): string {
  const pages = sourceUrl === undefined ? undefined : filePages(sourceUrl, version);
  return readme
    .replaceAll(EXAMPLE_REGISTRY, registry)
    .replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (link, image: string, text: string, target: string) => {
      if (/^[a-z][a-z+.-]*:|^#/i.test(target)) return link;
      if (pages === undefined) return text;
      return `${image}[${text}](${pages}/${posix.join("actions", action, target)})`;
    });
}

function filePages(sourceUrl: string, version: string): string | undefined {
  const { host } = new URL(sourceUrl);
  const page = FILE_PAGES[host];
  return page === undefined ? undefined : `${sourceUrl.replace(/\/$/, "")}/${page}/${versionTag(version)}`;
}
