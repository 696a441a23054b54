import { versionTag } from "./images/image-name.ts";
import type { Manifest } from "./manifest.ts";

/** The paths of a page and of the contents of a file, before commit or tag, on each host. */
const PATHS: Readonly<Record<string, { readonly page: string; readonly raw: string }>> = {
  "github.com": { page: "blob", raw: "raw" },
  "gitlab.com": { page: "-/blob", raw: "-/raw" },
  "bitbucket.org": { page: "src", raw: "raw" },
};

/** Where the pages of a version's files are; undefined for an unknown host. */
export function filePages(repository: string, version: string): string | undefined {
  return below(repository, version, "page");
}

/** Where the icon of a version is, if it has one. */
export function iconUrl({ repository, version, icon }: Manifest): string | undefined {
  const folder = repository && below(repository, version, "raw");
  return folder && icon && `${folder}/${icon}`;
}

function below(repository: string, version: string, kind: "page" | "raw"): string | undefined {
  const path = PATHS[new URL(repository).host]?.[kind];
  return path === undefined ? undefined : `${repository.replace(/\/$/, "")}/${path}/${versionTag(version)}`;
}
