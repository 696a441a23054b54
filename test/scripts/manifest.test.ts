import { expect, it } from "vitest";
import { Manifest } from "../../scripts/manifest.ts";

const bare = { name: "a", version: "1.2.3", license: "Apache-2.0" };

it.each([
  ["github:a/b", "https://github.com/a/b"],
  ["a/b", "https://github.com/a/b"],
  ["bitbucket:a/b", "https://bitbucket.org/a/b"],
  ["git+https://git.example/a/b.git", "https://git.example/a/b"],
  ["git+ssh://git@git.example/a/b.git", "https://git.example/a/b"],
  ["git@git.example:a/b.git", "https://git.example/a/b"],
  ["https://git.example/a/b", "https://git.example/a/b"],
])("the repository %s is the page %s", (repository, page) => {
  expect(Manifest.parse({ ...bare, repository }).repository).toBe(page);
  expect(Manifest.parse({ ...bare, repository: { type: "git", url: repository } }).repository).toBe(page);
});

it("reads a person from a text or an object", () => {
  const manifest = Manifest.parse({
    ...bare,
    author: "Ada Example <ada@example.org> (https://example.org)",
    maintainers: ["Ben Example", { name: "Cleo Example", email: "cleo@example.org" }],
  });

  expect(manifest.author).toEqual({ name: "Ada Example", email: "ada@example.org" });
  expect(manifest.maintainers).toEqual([
    { name: "Ben Example" },
    { name: "Cleo Example", email: "cleo@example.org" },
  ]);
});

it("refuses what is no version", () => {
  expect(() => Manifest.parse({ ...bare, version: "1.2" })).toThrow(/is not a version/);
});
