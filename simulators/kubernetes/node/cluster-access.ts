/** How to connect to a cluster. */
export interface ClusterAccess {
  readonly url: string;
  /** PEM; the system's authorities when absent. */
  readonly ca?: string;
  readonly token?: string;
  /** A client's certificate and key, PEM. */
  readonly cert?: string;
  readonly key?: string;
}
