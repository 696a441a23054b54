import { afterAll, onTestFinished } from "vitest";
import { type Folder, openFolder } from "./folder.ts";

/** A folder for the tests of a file, or of the `describe` that asks for it; gone after the last one. */
export async function fileFolder(): Promise<Folder> {
  const folder = await openFolder();
  afterAll(() => folder[Symbol.asyncDispose]());
  return folder;
}

/** A folder for the test that asks for it, which is no concurrent one. */
export async function testFolder(): Promise<Folder> {
  const folder = await openFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  return folder;
}
