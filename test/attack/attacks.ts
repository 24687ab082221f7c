// All attacks, in the order in which they run.
import type { Attack } from './attack.ts';
import { BAD_REMOTES } from './bad-remotes.ts';
import { BAD_SERVERS } from './bad-servers.ts';
import { HARD_TEXTS } from './hard-texts.ts';
import { HTTP_FLOODS } from './http-floods.ts';
import { LARGE_MESSAGES } from './large-messages.ts';
import { MANY_SESSIONS } from './many-sessions.ts';
import { WEB_SOCKET_FLOODS } from './web-socket-floods.ts';

/** What is measured without any. */
const NOTHING: Attack = {
  name: 'nothing',
  about: 'nobody attacks: what the machine and the measurement add by themselves',
  run: async (target) => {
    await target.begin();
    await target.wait(600_000);
    return 'nothing';
  },
};

export const ATTACKS: readonly Attack[] = [
  NOTHING,
  ...HTTP_FLOODS,
  ...WEB_SOCKET_FLOODS,
  ...LARGE_MESSAGES,
  ...HARD_TEXTS,
  ...MANY_SESSIONS,
  ...BAD_SERVERS,
  ...BAD_REMOTES,
];
