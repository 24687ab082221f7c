// Which of the last lines of a process is shown as the reason why it ended.
import { expect, it } from 'vitest';
import { LastStderrLine } from '../../../../src/upstream/stdio/stderr-log.ts';

function said(text: string): string {
  const words = new LastStderrLine();
  for (const line of text.split('\n')) if (line.trim() !== '') words.push(line);
  return words.text;
}

it('is nothing of a process that wrote nothing', () => {
  expect(said('')).toBe('');
});

it.each([
  [
    'npm, of a package that does not exist',
    `npm error code E404
npm error 404 Not Found - GET https://registry.example/nopkg - Not found
npm error 404
npm error 404  'nopkg@*' is not in this registry.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git folder.
npm error A complete log of this run can be found in: /root/.npm/_logs/2026-01-01-debug-0.log`,
    'npm error code E404; npm error 404 Not Found - GET https://registry.example/nopkg - Not found',
  ],
  [
    'an older npm',
    `npm ERR! code ENOVERSIONS
npm ERR! No versions available for nopkg
npm ERR! A complete log of this run can be found in:
npm ERR!     /root/.npm/_logs/debug-0.log`,
    'npm ERR! code ENOVERSIONS',
  ],
  [
    'docker, when its daemon does not run',
    `docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?

Run 'docker run --help' for more information`,
    'docker: Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?',
  ],
  [
    'node',
    `node:internal/modules/cjs/loader:1228
  throw err;
  ^
Error: Cannot find module '/app/x.js'
    at Function.executeUserEntryPoint [as runMain] (node:internal/modules/run_main:154:5)
    at node:internal/main/run_main_module:33:47 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}
Node.js v24.21.0`,
    "Error: Cannot find module '/app/x.js'",
  ],
  [
    'python',
    `Traceback (most recent call last):
  File "/app/server.py", line 3, in <module>
    import nothing
ModuleNotFoundError: No module named 'nothing'`,
    "ModuleNotFoundError: No module named 'nothing'",
  ],
  [
    'a command line that lacks something',
    `usage: server [-h] --token TOKEN
server: error: the following arguments are required: --token`,
    'server: error: the following arguments are required: --token',
  ],
  ['a shell', 'sh: 1: nosuch: not found', 'sh: 1: nosuch: not found'],
  ['somebody who checks', 'starting\nDATABASE_URL is not set\nbye', 'DATABASE_URL is not set'],
  [
    'Go',
    `panic: open /etc/x: no such file or directory
goroutine 1 [running]:
main.main()
	/app/main.go:9 +0x1d
exit status 2`,
    'panic: open /etc/x: no such file or directory',
  ],
])('%s', (_, text, shown) => {
  expect(said(text)).toBe(shown);
});

it('is the last line where none says more than another', () => {
  expect(said('one\ntwo\nthree')).toBe('three');
});

it('is found behind many other lines, and not behind very many', () => {
  const more = 'a line\n'.repeat(30);
  expect(said(`Error: no token\n${more}`)).toBe('Error: no token');
  expect(said(`Error: no token\n${more}${more}`)).toBe('a line');
});

it('is cut when it is long', () => {
  expect(said(`Error: ${'x'.repeat(100_000)}`).length).toBeLessThan(500);
});
