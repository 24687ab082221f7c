// Whether a server of one configuration is that of another one, so that it goes on as it is
// (docs/operations.md#reload): compared by what its process or connection was made with.
import { isSameValue } from '../base/same-value.ts';
import type { TextTemplate } from '../base/text-template.ts';
import type { RemoteTarget } from './credentials/options.ts';
import type { ServerOptions } from './options.ts';

/** Whether a running server can go on with other options. */
export function isSameServer(running: ServerOptions, wanted: ServerOptions): boolean {
  return isSameValue(fixedPart(running), fixedPart(wanted));
}

/** What can't be changed while it runs. */
function fixedPart(options: ServerOptions): unknown {
  const { timeouts: _, limits, target, ...rest } = options;
  const { inFlight, queue: __, ...fixedLimits } = limits;
  if (target.kind === 'stdio') return { ...rest, target, limits: fixedLimits };
  // So many connections are made for it.
  return { ...rest, target: withoutFileContents(target), limits: { ...fixedLimits, inFlight } };
}

/** Files in headers and secrets are read again when they are used, without a restart. */
function withoutFileContents(target: RemoteTarget): unknown {
  const { headers, headerTemplates, auth } = target;
  const fixed = Object.entries(headers).filter(([name]) => !Object.hasOwn(headerTemplates, name));
  const templates = Object.entries(headerTemplates).map(([name, text]) => [name, unread(text)]);
  const secret = auth?.clientSecret === undefined ? undefined : unread(auth.clientSecret);
  return {
    ...target,
    headers: Object.fromEntries(fixed),
    headerTemplates: templates,
    auth: auth && { ...auth, clientSecret: secret },
  };
}

function unread(text: TextTemplate): unknown {
  return text.map((part) =>
    typeof part !== 'string' && part.kind === 'file' ? { ...part, seen: '' } : part,
  );
}
