import { neverAborted } from "../../never-aborted.ts";
import { defineOperations, type Plan, type Run } from "./access.ts";
import { describeOffer, type OfferedDriver } from "./finding.ts";

/** A picture of the machine's screen. */
export interface Screenshot {
  /** The media type, such as `image/png`. */
  readonly mediaType: string;
  /** The content of the image file. */
  readonly bytes: Uint8Array;
}

export interface ScreenshotDriver extends OfferedDriver {
  /** What `take` would send, in one line for people. Throws as `offered` does. */
  plan(signal: AbortSignal): Promise<string>;
  take(signal: AbortSignal): Promise<Screenshot>;
}

type ScreenshotDrivers = { readonly screenshot: ScreenshotDriver };

export const screenshotOperations = defineOperations({
  title: "screenshot",
  methods: (run: Run<ScreenshotDrivers>) => ({
    /** Takes a picture of the machine's screen. */
    takeScreenshot: (signal: AbortSignal = neverAborted()): Promise<Screenshot> =>
      run(signal, ({ read }) => read(({ screenshot }) => screenshot.take(signal))),

    /** What `takeScreenshot` would send. */
    planScreenshot: (signal: AbortSignal = neverAborted()): Promise<Plan<undefined>> =>
      run(signal, async ({ read }) => {
        const step = await read(({ screenshot }) => screenshot.plan(signal));
        return { before: undefined, steps: [step] };
      }),
  }),
  check: async ({ read }, signal) =>
    describeOffer(await read(({ screenshot }) => screenshot.offered(signal))),
});
