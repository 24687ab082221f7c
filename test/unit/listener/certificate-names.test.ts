// Which names of a client's certificate count, and until when.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import {
  type CertificateNames,
  certificateNames,
} from '../../../src/listener/certificate-names.ts';

const END = 'Jan  1 00:00:00 2030 GMT';
const EARLIER = 'Jan  1 00:00:00 2027 GMT';

function found(certificate: object, authorized = true): CertificateNames {
  const socket: unknown = Object.create(TLSSocket.prototype, {
    authorized: { value: authorized },
    getPeerCertificate: { value: () => certificate },
  });
  return certificateNames({ socket } as IncomingMessage);
}

function shown(subjectaltname: string | undefined, authorized = true): readonly string[] {
  return found({ subjectaltname, valid_to: END }, authorized).names;
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

it('G08 are good until the first of the chain is over', () => {
  const root: Record<string, unknown> = { valid_to: END };
  root['issuerCertificate'] = root;
  const middle = { valid_to: EARLIER, issuerCertificate: root };
  expect(found({ valid_to: END }).expiresAtMs).toBe(Date.parse(END));
  expect(found({ valid_to: END, issuerCertificate: root }).expiresAtMs).toBe(Date.parse(END));
  expect(found({ valid_to: END, issuerCertificate: middle }).expiresAtMs).toBe(Date.parse(EARLIER));
  expect(found({ valid_to: 'who knows' }).expiresAtMs).toBe(0);
});
