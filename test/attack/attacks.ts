// All attacks, in the order in which they run.
import type { Attack } from './attack.ts';
import { BAD_REMOTES } from './bad-remotes.ts';
import { BAD_SERVERS } from './bad-servers.ts';
import { HARD_TEXTS } from './hard-texts.ts';
import { HTTP_FLOODS } from './http-floods.ts';
import { LARGE_MESSAGES } from './large-messages.ts';
import { MANY_SESSIONS } from './many-sessions.ts';
import { WEB_SOCKET_FLOODS } from './web-socket-floods.ts';

export const ATTACKS: readonly Attack[] = [
  ...HTTP_FLOODS,
  ...WEB_SOCKET_FLOODS,
  ...LARGE_MESSAGES,
  ...HARD_TEXTS,
  ...MANY_SESSIONS,
  ...BAD_SERVERS,
  ...BAD_REMOTES,
];
