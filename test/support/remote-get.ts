/** A GET of the kind that Sluice sends to a remote server, with all that decides where it goes. */

import { createLogger } from '../../src/observe/logger.ts';
import type { RemoteTarget } from '../../src/upstream/credentials/options.ts';
import { RemoteAccess } from '../../src/upstream/credentials/remote-access.ts';
import { HttpEndpoint } from '../../src/upstream/remote/http-endpoint.ts';
import { anyOwner } from './held.ts';

type Network = ConstructorParameters<typeof RemoteAccess>[2];

/** @returns the status of the response */
export async function getRemote(target: RemoteTarget, network: Network): Promise<number> {
  const logger = createLogger({ level: 'fatal', messages: false });
  const access = new RemoteAccess(target, logger, network);
  const endpoint = new HttpEndpoint(target, 1, {
    access,
    principal: () => undefined,
    owner: anyOwner(),
  });
  try {
    const { signal } = new AbortController();
    const answer = await endpoint.request({ method: 'GET', headers: {}, signal, headMs: 5_000 });
    answer.discard();
    return answer.status;
  } finally {
    await endpoint.close();
  }
}
