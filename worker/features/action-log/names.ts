/** File names have at most 255 bytes. Namespaces have 63 (RFC 1123), other names 253. */
const MAX_NAMESPACE = 63;
const MAX_WORKFLOW = 150;
const MAX_ACTION = 80;
const SHORT_KEY = 8;

const FOLDER = /^[A-Za-z0-9][A-Za-z0-9.-]*(_[A-Za-z0-9][A-Za-z0-9.-]*)?$/;
const FILE = /^\d{8}T\d{6}\.\d{3}Z-[A-Za-z0-9][A-Za-z0-9.-]{0,79}-(?:[0-9a-f]{8}|[0-9a-f]{32})\.log$/;

/**
 * The folder of a workflow's logs: `namespace_name`. Names from the server can contain anything, so two workflows may share a
 * folder; their files differ by key.
 */
export function folderName(workflowId: string): string {
  const slash = workflowId.indexOf("/");
  const name = fileSafe(workflowId.slice(slash + 1), MAX_WORKFLOW);
  return slash < 0 ? name : `${fileSafe(workflowId.slice(0, slash), MAX_NAMESPACE)}_${name}`;
}

/**
 * The name of an action's log file, such as `20261121T161308.123Z-power-off-1a2b3c4d.log`. Names sort by time; with the
 * whole key they are unique.
 */
export function fileName(
  { name, key }: { readonly name: string; readonly key: string },
  startedAt: Date,
  { wholeKey = false }: { readonly wholeKey?: boolean } = {},
): string {
  const stamp = startedAt.toISOString().replaceAll(/[-:]/g, "");
  return `${stamp}-${fileSafe(name, MAX_ACTION)}-${wholeKey ? key : key.slice(0, SHORT_KEY)}.log`;
}

export function isFolderName(name: string): boolean {
  return FOLDER.test(name);
}

export function isFileName(name: string): boolean {
  return FILE.test(name);
}

/**
 * Keeps letters, digits, `.` and `-`, starting with a letter or digit, so that the result is no path, hidden file or
 * command-line option.
 */
function fileSafe(text: string, longest: number): string {
  const safe = text
    .replaceAll(/[^A-Za-z0-9.-]+/g, "-")
    .replace(/^[.-]+/, "")
    .slice(0, longest);
  return safe === "" ? "unnamed" : safe;
}
