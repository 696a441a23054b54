/** A path without empty parts and dots, and with `/var/run` replaced by `/run`, its target. */
export function cleanPath(path: string): string {
  const clean = `/${path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;
  return clean.replace(/^\/var\/run(?=\/|$)/, "/run");
}

export function isWithin(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}
