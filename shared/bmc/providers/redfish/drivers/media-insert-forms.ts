/**
 * The bodies of an InsertMedia request, each with one parameter more than the one before: `Image` is all that the
 * schema requires, and BMCs differ in what they require beside it and in what they refuse.
 */
export function insertForms(url: string): readonly Readonly<Record<string, unknown>>[] {
  const parameters: readonly (readonly [string, unknown])[] = [
    ["Image", url],
    ["Inserted", true],
    ["WriteProtected", true],
    ["TransferProtocolType", transferProtocol(url)],
    ["TransferMethod", "Stream"],
  ];
  return parameters.map((_, index) => Object.fromEntries(parameters.slice(0, index + 1)));
}

/** DSP0268, VirtualMedia.TransferProtocolType: the scheme in upper case. */
function transferProtocol(url: string): string {
  return (/^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1] ?? "http").toUpperCase();
}
