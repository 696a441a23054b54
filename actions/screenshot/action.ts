import { createHash } from "node:crypto";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { outputFile } from "../harness/input/input.ts";
import { probeReplace, replaceFile } from "../harness/input/replace-file.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";

const FILE = "SCREENSHOT_FILE";

interface ScreenshotData {
  readonly file: string;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
}

export default defineAction({
  name: "screenshot",
  summary: "Save a screenshot of a machine's screen to a file, if the BMC supports it",
  idempotent: true,
  input: {
    file: outputFile({
      env: FILE,
      description: "The file to write, in the BMC's image format; an existing file is replaced",
      required: true,
    }),
  },
  run: async ({
    bmc,
    input: { file },
    dryRun,
    nameInput,
    signal,
  }): Promise<ActionReport<DryRunData | ScreenshotData>> => {
    refuse(`${nameInput(FILE)} ${file}`, await probeReplace(file));
    if (dryRun) return reportPlan(await bmc.planScreenshot(signal), "");
    const { mediaType, bytes } = await bmc.takeScreenshot(signal);
    refuse(`${nameInput(FILE)} ${file}`, await replaceFile(file, bytes));
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return {
      summary: `screenshot (${mediaType}) written to ${file}`,
      changed: false,
      data: { file, mediaType, size: bytes.byteLength, sha256 },
    };
  },
});

function refuse(name: string, problem: string | undefined): void {
  if (problem !== undefined) throw new BmcError("usage", `${name} cannot be written: ${problem}`);
}
