// Which names of a client's certificate count.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { certificateNames } from '../../../src/listener/certificate-names.ts';

function shown(subjectaltname: string | undefined, authorized = true): readonly string[] {
  const socket: unknown = Object.create(TLSSocket.prototype, {
    authorized: { value: authorized },
    getPeerCertificate: { value: () => ({ subjectaltname }) },
  });
  return certificateNames({ socket } as IncomingMessage);
}

it('are those of a certificate that was verified', () => {
  expect(shown('DNS:a.example, URI:spiffe://x/y')).toEqual(['DNS:a.example', 'URI:spiffe://x/y']);
  expect(shown(undefined)).toEqual([]);
  expect(shown('DNS:a.example', false)).toEqual([]);
});

it.each([
  'DNS:"a.example, DNS:admin.example"',
  'URI:"http://x/\\", DNS:admin.example", DNS:b.example',
  'othername:x, DirName:CN=a',
])('G04 none where one could be taken for several, or is of another kind: %s', (text) => {
  expect(shown(text)).toEqual([]);
});
