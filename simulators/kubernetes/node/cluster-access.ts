/** The address and credentials of a cluster. */
export interface ClusterAccess {
  readonly url: string;
  /** The CA in PEM. Defaults to the system's authorities. */
  readonly ca?: string;
  readonly token?: string;
  /** The client's certificate and key in PEM. */
  readonly cert?: string;
  readonly key?: string;
}
