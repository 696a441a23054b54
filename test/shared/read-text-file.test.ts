import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileProblemOf, readTextFile } from "../../shared/read-text-file.ts";
import { fileFolder } from "../support/test-folder.ts";

const { folder } = await fileFolder();
function problem(path: string): string {
  try {
    readTextFile(path);
  } catch (thrown) {
    return fileProblemOf(thrown);
  }
  return "read";
}

describe("readTextFile", () => {
  it("reads text through links, as Kubernetes mounts it", () => {
    writeFileSync(join(folder, "text"), "größer\n");
    symlinkSync("text", join(folder, "link"));

    expect(readTextFile(join(folder, "link"))).toBe("größer\n");
  });

  it("says in words why a file cannot be read", () => {
    writeFileSync(join(folder, "binary"), Buffer.from([0xc3, 0x28]));
    symlinkSync("loop", join(folder, "loop"));
    execFileSync("mkfifo", [join(folder, "pipe")]);

    expect(problem(join(folder, "absent"))).toBe("does not exist");
    expect(problem(join(folder, "binary", "below"))).toBe("does not exist");
    expect(problem(folder)).toBe("is not a file");
    expect(problem(join(folder, "pipe"))).toBe("is not a file");
    expect(problem("/dev/zero")).toBe("is not a file");
    expect(problem(join(folder, "binary"))).toBe("is not UTF-8 text");
    expect(problem(join(folder, "loop"))).toBe("is a loop of links");
  });
});
