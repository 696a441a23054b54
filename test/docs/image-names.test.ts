import { readdir, readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { catalogue } from "../../actions/catalogue.ts";
import { IMAGE_REGISTRY } from "../../shared/image-registry.ts";

const FOLDERS = ["actions", "cli", "deploy", "docs", "examples", "worker"];

it("every image of this project is named with its registry", async () => {
  const listed = await Promise.all(
    FOLDERS.map(async (folder) =>
      (await readdir(folder, { recursive: true })).map((name) => `${folder}/${name}`),
    ),
  );
  const files = ["README.md", ...listed.flat()].filter((path) =>
    /\.(?:md|ts|yaml|yml|env|tpl|txt)$/.test(path),
  );
  const texts = await Promise.all(files.map((path) => readFile(path, "utf8")));
  const name = `(?:worker|${catalogue.join("|")})`;
  const image = new RegExp(`[\\w.:-]+(?:/[\\w.-]+)*/${name}:v\\d[\\w.-]*`, "g");
  const pattern = /[\w.:-]+(?:\/[\w.-]+)*\/pbnj-worker\/\*/g;
  const named = texts.flatMap((text) =>
    [...text.matchAll(image), ...text.matchAll(pattern)].map(([found]) => found),
  );

  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((found) => found.slice(0, found.lastIndexOf("/")) !== IMAGE_REGISTRY)).toEqual([]);
});
