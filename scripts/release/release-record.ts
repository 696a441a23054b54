/** One image of a release. */
export interface ReleasedImage {
  readonly name: string;
  readonly tag: string;
  /** Digest of the index of all platforms, or of the only manifest; absent if an engine built it and did not push. */
  readonly digest?: string;
  readonly platforms: readonly string[];
}

/** `release.json`: what was built, from what, and how. */
export interface ReleaseRecord {
  readonly version: string;
  /** The commit. */
  readonly revision: string;
  readonly builder: "buildx" | "docker" | "podman";
  readonly pushed: boolean;
  readonly attestations: readonly ("sbom" | "provenance")[];
  readonly images: readonly ReleasedImage[];
}

export function releaseText(record: ReleaseRecord): string {
  return `${JSON.stringify(record, undefined, 2)}\n`;
}
