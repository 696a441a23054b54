import { tmpdir } from "node:os";
import { expect, it } from "vitest";
import { checkedOutCommit, versionLine } from "../../cli/version.ts";
import manifest from "../../package.json" with { type: "json" };
import { headCommit } from "../../scripts/git.ts";
import { projectRoot } from "../../scripts/project-root.ts";

it("names the version first, then the commit that is checked out and Node's version", async () => {
  const commit = (await headCommit(projectRoot))?.id ?? "unknown";
  expect(await versionLine()).toBe(`${manifest.version} (commit ${commit}, Node ${process.versions.node})`);
});

it("knows no commit outside a repository", async () => {
  expect(await checkedOutCommit(tmpdir())).toBe("");
});
