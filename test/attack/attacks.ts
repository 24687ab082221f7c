// All attacks, in the order in which they run.
import type { Attack } from './attack.ts';
import { HTTP_FLOODS } from './http-floods.ts';
import { WEB_SOCKET_FLOODS } from './web-socket-floods.ts';

export const ATTACKS: readonly Attack[] = [...HTTP_FLOODS, ...WEB_SOCKET_FLOODS];
