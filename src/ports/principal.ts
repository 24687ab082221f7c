/** Who a client is. Two clients are the same person exactly when their keys are equal. */
export interface Principal {
  readonly key: string;
}
