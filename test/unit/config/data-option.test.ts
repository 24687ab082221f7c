// Where the data folder is: in the configuration, or in the environment.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { commandLineConfig } from '../../../src/config/command-line-server.ts';
import { loadText } from '../../../src/config/load.ts';
import { tempDir } from '../../support/temp-dir.ts';

const SERVERS = 'servers: { a: { command: cat } }';

function load(text: string, SLUICE_DATA?: string) {
  const { config, warnings } = loadText('s.yaml', text, { SLUICE_DATA }, '/etc/sluice/s.yaml');
  return { data: config.data, warnings: warnings.map(({ message }) => message) };
}

it('the configuration says it, relative to its file, whatever the environment says', () => {
  expect(load(`data: kept\n${SERVERS}`, '/elsewhere').data).toBe('/etc/sluice/kept');
  expect(load(`data: /var/kept\n${SERVERS}`).data).toBe('/var/kept');
});

it('the environment says it otherwise, for sluice run too', () => {
  const folder = join(tempDir(), 'not', 'there');
  expect(load(SERVERS, folder)).toEqual({ data: folder, warnings: [] });
  expect(load(SERVERS, '').data).toBeUndefined();
  expect(load(SERVERS).data).toBeUndefined();
  const flags = {
    command: 'cat',
    args: [],
    port: undefined,
    host: undefined,
    sharing: undefined,
    adminPort: undefined,
    allowUnauthenticated: false,
  };
  const run = commandLineConfig(flags, '/', { SLUICE_DATA: folder });
  expect('config' in run ? run.config.data : run).toBe(folder);
});

it('one of the environment that can not be written is not used, and that is said', () => {
  const folder = tempDir();
  writeFileSync(join(folder, 'file'), '');
  mkdirSync(join(folder, 'folder'));
  const { data, warnings } = load(SERVERS, join(folder, 'file', 'data'));
  expect(data).toBeUndefined();
  expect(warnings).toEqual([
    `is ${join(folder, 'file', 'data')} by SLUICE_DATA, which can't be written (ENOTDIR): not used`,
  ]);
  expect(load(SERVERS, join(folder, 'folder')).data).toBe(join(folder, 'folder'));
});
