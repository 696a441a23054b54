import { writeFile } from "node:fs/promises";
import { renderConfigurationPage } from "../worker/config/reference.ts";

/** Pages made from the code they describe, by their path from the project's root. */
export const pages: Readonly<Record<string, () => string>> = {
  "docs/configuration.md": renderConfigurationPage,
};

if (import.meta.main) {
  for (const [path, render] of Object.entries(pages)) {
    await writeFile(new URL(`../${path}`, import.meta.url), render());
  }
}
