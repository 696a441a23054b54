import { readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readMockup, writeMockup } from "../../../shared/recording/mockup.ts";
import { readRecording } from "../../../shared/recording/read-recording.ts";
import { compress, parseRecording, recordingText } from "../../../shared/recording/recording.ts";
import { testFolder } from "../../support/test-folder.ts";

const RESOURCES = { "/redfish/v1": { Id: "Root" }, "/redfish/v1/Systems/1": { Id: "1" } };

async function folder(): Promise<string> {
  const { folder: made } = await testFolder();
  return made;
}

describe("a recording", () => {
  it("is read as it was written, compressed or not", () => {
    const text = recordingText({ vendor: "Contoso", resources: RESOURCES });

    expect(parseRecording(Buffer.from(text))).toMatchObject({ vendor: "Contoso", resources: RESOURCES });
    expect(parseRecording(compress(text))).toEqual(parseRecording(Buffer.from(text)));
  });

  it("has one line per resource and exchange", () => {
    const exchange = { request: "GET /redfish/v1", atMs: 0, ms: 3, status: 200 };
    const text = recordingText({ resources: RESOURCES, exchanges: [exchange, exchange] });

    expect(text.trimEnd().split("\n")).toHaveLength(12);
  });

  it.each([
    ["text", "hello", "it is not JSON"],
    ["another file", '{"format":"other"}', "it is not a recording: format"],
    ["a later version", '{"format":"pbnj-worker-recording","version":2}', "it is not a recording: version"],
    [
      "too many levels",
      `{"resources":{"/a":${"[".repeat(200)}${"]".repeat(200)}}}`,
      "it has too many levels",
    ],
    [
      "a message of Intel AMT that is none",
      '{"exchanges":[{"request":"POST /wsman","atMs":0,"status":200,"body":{"output":{"a b":"c"}}}]}',
      "it is not a recording: exchanges: 0: body: output: a b",
    ],
    ["a path that is none", '{"resources":{"../etc":{}}}', "it is not a recording: resources"],
  ])("is refused in one line if it is %s", (_, text, problem) => {
    expect(() => parseRecording(Buffer.from(text))).toThrow(problem);
  });

  it("is refused if it expands to more than a machine has", () => {
    expect(() => parseRecording(gzipSync(Buffer.alloc(70 * 1_048_576)))).toThrow();
  });
});

describe("a mockup", () => {
  it("is read as it was written", async () => {
    const place = join(await folder(), "mockup");

    expect(await writeMockup(place, { resources: RESOURCES })).toEqual([]);

    expect(await readRecording(place)).toEqual({ resources: RESOURCES });
  });

  it("in DMTF's short form begins below the service root", async () => {
    const place = await folder();
    await writeFile(join(place, "index.json"), '{"Id":"Root"}');

    expect(await readMockup(place)).toEqual({ resources: { "/redfish/v1": { Id: "Root" } } });
  });

  it("never leaves its folder, whatever paths a recording has", async () => {
    const parent = await folder();
    const bad = ["/redfish/v1/../../../x", "/redfish/v1/a\\b", "/redfish/v1/.."];
    const resources = { ...RESOURCES, ...Object.fromEntries(bad.map((path) => [path, {}])) };

    expect(await writeMockup(join(parent, "mockup"), { resources })).toEqual(bad);

    expect(await readdir(parent)).toEqual(["mockup"]);
  });

  it("is not read through links", async () => {
    const [place, other] = [await folder(), await folder()];
    await writeFile(join(other, "index.json"), '{"Id":"other"}');
    await writeFile(join(place, "index.json"), '{"Id":"Root"}');
    await symlink(other, join(place, "Systems"));

    expect(Object.keys((await readMockup(place)).resources)).toEqual(["/redfish/v1"]);
  });
});
