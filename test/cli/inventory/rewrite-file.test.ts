import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { rewriteFile } from "../../../cli/inventory/rewrite-file.ts";
import { testFolder } from "../../support/test-folder.ts";

const running = new AbortController().signal;
let folder: string;
let file: string;

beforeEach(async () => {
  ({ folder } = await testFolder());
  file = join(folder, "inventory.yaml");
  writeFileSync(file, "old");
  chmodSync(file, 0o664);
});

describe("a file that is rewritten", () => {
  it("keeps its mode, its owner and a link to it", async () => {
    const link = join(folder, "link.yaml");
    symlinkSync("inventory.yaml", link);
    const before = statSync(file);

    expect(await rewriteFile(link, "old", "new", running)).toBeUndefined();

    const { mode, uid, gid } = statSync(file);
    expect({ mode, uid, gid }).toEqual({ mode: before.mode, uid: before.uid, gid: before.gid });
    expect(readFileSync(file, "utf8")).toBe("new");
    expect(readdirSync(folder).toSorted()).toEqual(["inventory.yaml", "link.yaml"]);
  });

  it("stays as it is if it changed meanwhile, or after a signal", async () => {
    expect(await rewriteFile(file, "older", "new", running)).toBe("it changed meanwhile");
    await expect(rewriteFile(file, "old", "new", AbortSignal.abort(new Error("stopped")))).rejects.toThrow(
      "stopped",
    );

    expect(readFileSync(file, "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["inventory.yaml"]);
  });
});
