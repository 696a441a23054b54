import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { catalogue, loadAction } from "../../actions/catalogue.ts";
import { fieldGroups } from "../../actions/harness/input/flags.ts";
import { pages } from "../../scripts/pages.ts";
import { ProviderName } from "../../shared/contract/vocabulary.ts";

const root = new URL("../../", import.meta.url);
const committed = (path: string) => readFile(new URL(path, root), "utf8");

describe("the pages made from the code", () => {
  it.each(Object.entries(pages))("%s is as `npm run docs` writes it", async (path, render) => {
    const text = await committed(path);

    expect(text).toBe(await render(text));
  });
});

describe("the README of an action", () => {
  it.each(catalogue)("%s and the pages of common variables have each variable once", async (name) => {
    const action = await loadAction(name);
    if (!action) throw new Error(`no action ${name}`);
    const fields = fieldGroups(action).flatMap(([, members]) => members);
    const texts = await Promise.all([
      committed(`actions/${name}/README.md`),
      committed("docs/reference/action-input.md"),
      ...ProviderName.options.map((provider) => committed(`docs/reference/providers/${provider}.md`)),
    ]);

    const rows = texts.join("\n").match(/^\| `[A-Z0-9_]+` \|.*$/gm) ?? [];

    const rowOf = new Map(rows.map((row) => [row.split("`")[1], row]));
    expect(rows.map((row) => row.split("`")[1]).toSorted()).toEqual(fields.map(({ env }) => env).toSorted());
    for (const { env, default: value } of fields) {
      if (value !== undefined) expect(rowOf.get(env)).toContain(`| \`${value}\` |`);
    }
  });

  it.each(catalogue)(
    "%s has an example that names the action's image and only variables it knows",
    async (name) => {
      const action = await loadAction(name);
      if (!action) throw new Error(`no action ${name}`);
      const known = fieldGroups(action).flatMap(([, members]) => members.map(({ env }) => env));

      const [, example = ""] = /```yaml\n(.*?)```/s.exec(await committed(`actions/${name}/README.md`)) ?? [];

      expect(example).toContain(`/${name}:`);
      const used = [...example.matchAll(/[ {]([A-Z0-9_]{2,}): /g)].map(([, variable]) => variable);
      expect(used).toContain("MACHINE");
      expect(known).toEqual(expect.arrayContaining(used));
    },
  );
});
