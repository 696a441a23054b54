import { posix } from "node:path";
import { IMAGE_REGISTRY } from "../../shared/image-registry.ts";
import { filePages } from "../project-pages.ts";
import type { Publication } from "./publication.ts";

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
    .replaceAll(IMAGE_REGISTRY, registry)
    .replace(/(!?)\[([^\]]*)\]\(([^)\s]+)\)/g, (link, image: string, text: string, target: string) => {
      if (/^[a-z][a-z+.-]*:|^#/i.test(target)) return link;
      if (pages === undefined) return text;
      return `${image}[${text}](${pages}/${posix.join("actions", action, target)})`;
    });
}
