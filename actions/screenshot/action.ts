import { createHash } from "node:crypto";
import { BmcError } from "../../shared/contract/bmc-error.ts";
import { type ActionReport, defineAction } from "../harness/action.ts";
import { boolean, outputFile } from "../harness/input/input.ts";
import { probeReplace, replaceFile } from "../harness/input/replace-file.ts";
import { type DryRunData, reportPlan } from "../harness/run/dry-run.ts";

const FILE = "SCREENSHOT_FILE";
const INLINE = "SCREENSHOT_INLINE";
/** The largest image in a result. A worker reads at most 4 MiB of result, and base64 adds a third. */
const LARGEST_INLINE = 3_000_000;

interface ScreenshotData {
  readonly file?: string;
  readonly mediaType: string;
  readonly size: number;
  readonly sha256: string;
  /** The image in base64. */
  readonly image?: string;
}

export default defineAction({
  name: "screenshot",
  summary: "Save a screenshot of a machine's screen to a file, if the BMC supports it",
  idempotent: true,
  input: {
    file: outputFile({
      env: FILE,
      description: "The file to write, in the BMC's image format; an existing file is replaced",
    }),
    inline: boolean({
      env: INLINE,
      description: "Put the image into the result, in base64, instead of a file",
      default: "false",
    }),
  },
  check: ({ file, inline }, nameInput) =>
    (file === undefined) === inline
      ? []
      : [`set either ${nameInput(FILE)} or ${nameInput(INLINE, "true")}: where the screenshot goes`],
  run: async ({
    bmc,
    input: { file },
    dryRun,
    nameInput,
    signal,
  }): Promise<ActionReport<DryRunData | ScreenshotData>> => {
    if (file !== undefined) refuse(`${nameInput(FILE)} ${file}`, await probeReplace(file));
    if (dryRun) return reportPlan(await bmc.planScreenshot(signal), "");
    const { mediaType, bytes } = await bmc.takeScreenshot(signal);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const facts = { mediaType, size: bytes.byteLength, sha256 };
    if (file === undefined) {
      if (bytes.byteLength > LARGEST_INLINE) {
        throw new BmcError("unsupported", `the screenshot has ${bytes.byteLength} bytes: use ${FILE}`);
      }
      const image = Buffer.from(bytes).toString("base64");
      return { summary: `screenshot (${mediaType}) taken`, changed: false, data: { ...facts, image } };
    }
    refuse(`${nameInput(FILE)} ${file}`, await replaceFile(file, bytes));
    return {
      summary: `screenshot (${mediaType}) written to ${file}`,
      changed: false,
      data: { file, ...facts },
    };
  },
});

function refuse(name: string, problem: string | undefined): void {
  if (problem !== undefined) throw new BmcError("usage", `${name} cannot be written: ${problem}`);
}
