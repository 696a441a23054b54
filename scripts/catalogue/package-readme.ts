import { posix } from "node:path";
import { EXAMPLE_REGISTRY } from "../action-readme/action-readme.ts";
import { versionTag } from "../images/image-name.ts";
import type { Publication } from "./publication.ts";

/** Where each host shows a file of a commit or tag. */
const FILE_PAGES: Readonly<Record<string, string>> = {
  "github.com": "blob",
  "gitlab.com": "-/blob",
  "bitbucket.org": "src",
};

/**
 * An action's README as it stands in the registry, where no other file of the project is: images are those of
 * the release; a relative link leads to the source repository, and is its text alone where no page is known.
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
