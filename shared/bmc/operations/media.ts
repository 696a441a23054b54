import { BmcError } from "../../contract/bmc-error.ts";
import type { MediaImage, MediaState, Unverified } from "../provider.ts";

export interface MediaReport {
  /** Both absent where the drive cannot be read. */
  readonly before?: MediaState;
  readonly after?: MediaState;
  readonly changed: boolean;
  readonly summary: string;
}

/** The virtual drive with retries in place; what the operations need and no more. */
export interface MediaPort {
  /** What a write is worth where it cannot be read back. */
  unverified(): Promise<Unverified | undefined>;
  read(): Promise<MediaState>;
  /** What `insert`, or without an image `eject`, would put on the wire, for people. */
  plan(image: MediaImage | undefined): Promise<string>;
  insert(image: MediaImage): Promise<void>;
  eject(): Promise<void>;
  sleep(ms: number): Promise<void>;
}

/** Dell keeps a stale "Inserted" for some seconds after an eject; others take as long to show an image. */
const ATTEMPTS = 3;
const PAUSE_MS = 3_000;

/** Inserts an image: ejects what is there, inserts, and reads back that this image is in. */
export async function insertMedia(port: MediaPort, image: MediaImage): Promise<MediaReport> {
  if (await port.unverified()) {
    await port.insert(image);
    return { changed: true, summary: `media ${image.url} accepted, cannot be read back` };
  }
  const before = await port.read();
  if (before.inserted) await empty(port);
  for (let attempt = 1; ; attempt += 1) {
    const refusal = await refusalOf(() => port.insert(image));
    const after = await until(port, (state) => holds(state, image));
    if (holds(after, image)) {
      return { before, after, changed: true, summary: `media ${image.url} inserted` };
    }
    if (attempt >= ATTEMPTS) {
      if (refusal) throw refusal;
      throw new BmcError("verify", `asked for media ${image.url}, the BMC has ${describeMedia(after)}`);
    }
    await refusalOf(() => port.eject());
    await port.sleep(PAUSE_MS);
  }
}

/** Ejects; an empty drive is success. */
export async function ejectMedia(port: MediaPort): Promise<MediaReport> {
  if (await port.unverified()) {
    await port.eject();
    return { changed: true, summary: "eject accepted, cannot be read back" };
  }
  const before = await port.read();
  if (!before.inserted) return { before, after: before, changed: false, summary: "media already ejected" };
  const after = await empty(port);
  return { before, after, changed: true, summary: "media ejected" };
}

/** What inserting, or without an image ejecting, would send. Reads the drive and changes nothing. */
export async function planMedia(
  port: MediaPort,
  image: MediaImage | undefined,
): Promise<{ readonly before: MediaState | undefined; readonly steps: readonly string[] }> {
  const before = (await port.unverified()) ? undefined : await port.read();
  const eject = before?.inserted || (!before && !image) ? [await port.plan(undefined)] : [];
  return { before, steps: image ? [...eject, await port.plan(image)] : eject };
}

/** For people: `no media`, `http://.../rescue.iso`. */
export function describeMedia({ inserted, image }: MediaState): string {
  return inserted ? (image ?? "some media") : "no media";
}

async function empty(port: MediaPort): Promise<MediaState> {
  const refusal = await refusalOf(() => port.eject());
  const after = await until(port, ({ inserted }) => !inserted);
  if (!after.inserted) return after;
  throw refusal ?? new BmcError("verify", `asked to eject, the BMC still has ${describeMedia(after)}`);
}

/** A BMC that does not report the image is taken at its word that something is in. */
function holds(state: MediaState, { url }: MediaImage): boolean {
  return state.inserted && (state.image === undefined || state.image === url);
}

async function until(port: MediaPort, done: (state: MediaState) => boolean): Promise<MediaState> {
  let state = await port.read();
  for (let attempt = 1; attempt < ATTEMPTS && !done(state); attempt += 1) {
    await port.sleep(PAUSE_MS);
    state = await port.read();
  }
  return state;
}

/** A refusal that the state may yet disprove; what makes looking pointless is thrown. */
async function refusalOf(write: () => Promise<void>): Promise<BmcError | undefined> {
  try {
    await write();
    return undefined;
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (["auth", "cancelled", "internal", "tls", "unsupported", "usage"].includes(error.class)) throw error;
    return error;
  }
}
