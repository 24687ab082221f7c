// The command line's words.
import { describe, expect, it } from 'vitest';
import { parseCommandLine } from '../../../src/cli/args.ts';

function parse(line: string): ReturnType<typeof parseCommandLine> {
  return parseCommandLine(line === '' ? [] : line.split(' '));
}

describe('the command line', () => {
  it.each<[string, object]>([
    ['serve', { kind: 'serve', exitWithParent: false }],
    [
      'serve --config x.yaml --exit-with-parent',
      { kind: 'serve', config: 'x.yaml', exitWithParent: true },
    ],
    ['serve -c x.yaml', { kind: 'serve', config: 'x.yaml', exitWithParent: false }],
    [
      'serve --port 8090 --host ::1 --admin-port 0',
      { kind: 'serve', port: 8090, host: '::1', adminPort: 0, exitWithParent: false },
    ],
    ['serve -p 1', { kind: 'serve', port: 1, exitWithParent: false }],
    ['check --config=x.yaml', { kind: 'check', config: 'x.yaml' }],
    ['--version', { kind: 'version' }],
    ['serve --version', { kind: 'version' }],
    ['--help', { kind: 'help', command: undefined }],
    ['help run', { kind: 'help', command: 'run' }],
    ['serve --help', { kind: 'help', command: 'serve' }],
    ['check -h', { kind: 'help', command: 'check' }],
    ['run --help', { kind: 'help', command: 'run' }],
    ['pin', { kind: 'pin', servers: [], isDryRun: false, isYes: false }],
    [
      'pin -c x.yaml -s a --server b --dry-run -y',
      { kind: 'pin', config: 'x.yaml', servers: ['a', 'b'], isDryRun: true, isYes: true },
    ],
    ['pin --help', { kind: 'help', command: 'pin' }],
    ['connect --help', { kind: 'help', command: 'connect' }],
    [
      'connect http://x --header=A:b -H C:d:e',
      { kind: 'connect', url: 'http://x', headers: { A: 'b', C: 'd:e' } },
    ],
  ])('%j is understood', (line, expected) => {
    expect(parse(line)).toEqual(expected);
  });

  it('gives everything after -- to the server', () => {
    expect(
      parse('run -p 0 --host ::1 --sharing session --admin-port 1 -- npx -y --port 3 -- --help'),
    ).toEqual({
      kind: 'run',
      command: 'npx',
      args: ['-y', '--port', '3', '--', '--help'],
      port: 0,
      host: '::1',
      sharing: 'session',
      adminPort: 1,
      allowUnauthenticated: false,
      exitWithParent: false,
    });
    expect(parse('run -- x --version')).toMatchObject({ kind: 'run', args: ['--version'] });
  });

  it.each<[string, string]>([
    ['', 'no command given'],
    ['serv', 'unknown command "serv": must be one of serve, run, check, connect, pin'],
    ['serve --confg x', "Unknown option '--confg'"],
    ['serve --config', "'-c, --config <value>' argument missing"],
    ['check x', "Unexpected argument 'x'"],
    ['run', 'no server command given: write the server'],
    ['run --', 'no server command given'],
    ['run npx -- x', 'unexpected argument "npx" before --'],
    ['run --port x -- y', '--port is "x", must be a port number'],
    ['run --port -1 -- y', 'port'],
    ['serve --port x', '--port is "x", must be a port number'],
    ['pin x', "Unexpected argument 'x'"],
    ['connect', 'no URL given: give one URL'],
    ['connect a b', 'unexpected argument "b" after the URL'],
    ['connect http://x -H secret', '--header must be a name and a value'],
  ])('%j is a usage error', (line, message) => {
    const invocation = parse(line);
    expect(invocation.kind).toBe('usage-error');
    expect(invocation).toMatchObject({ message: expect.stringContaining(message) });
  });
});
