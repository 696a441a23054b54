import manifest from "../package.json" with { type: "json" };

/** The address of a page of `docs/` for readers elsewhere; `page` is such as `reference/error-classes.md#tls`. */
export function docsPage(page: string): string {
  return `${manifest.homepage}/blob/v${manifest.version}/docs/${page}`;
}
