// What each command prints, starts and answers with.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GatewayLaunch, main, packageVersion } from '../../../src/cli/commands.ts';
import { COMMANDS } from '../../../src/cli/help.ts';
import type { Config } from '../../../src/config/config.ts';
import { processTarget } from '../../support/process-target.ts';

const repository = resolve(import.meta.dirname, '../../..');

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'));
  writeFileSync(join(folder, 'bad.yaml'), 'servers:\n  a: { comand: x }\n  B: { command: x }\n');
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/x'), '', { mode: 0o755 });
  writeFileSync(
    join(folder, 'ports.yaml'),
    'listen: { port: 1, maxBody: 1MiB }\nadmin: { socket: admin.sock }\nservers: { a: { command: cat } }',
  );
  writeFileSync(join(folder, 'hosts.json'), '{"mcpServers":{"a":{"command":"cat","timeout":1}}}');
  writeFileSync(
    join(folder, 'secret.yaml'),
    'servers: { a: { command: cat, env: { A: "${SECRET_VALUE}" } } }',
  );
  writeFileSync(join(folder, 'named.json'), '{"mcpServers":{"My Cat":{"command":"cat"}}}');
  writeFileSync(join(folder, 'line.json'), '{"mcpServers":{"a":{"command":"npx -y pkg"}}}');
  writeFileSync(join(folder, 'later.yaml'), 'servers: { a: { command: no-such-tool } }');
  writeFileSync(
    join(folder, 'keys.yaml'),
    'servers: { a: { command: cat } }\nauth: { keys: { file: k.json }, allow: [{ servers: [a] }] }\n',
  );
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Outcome {
  status: number;
  out: string;
  err: string;
  started: { config: Config; options: GatewayLaunch }[];
  readonly connected: Config[];
}

async function sluice(line: string, cwd = folder): Promise<Outcome> {
  const outcome: Outcome = { status: -1, out: '', err: '', started: [], connected: [] };
  outcome.status = await main(line === '' ? [] : line.split(' '), {
    cwd,
    environment: { SECRET_VALUE: 'from-outside' },
    out: (text) => {
      outcome.out += text;
    },
    err: (text) => {
      outcome.err += text;
    },
    startGateway: (config, options) => {
      outcome.started.push({ config, options });
      return Promise.resolve(0);
    },
    connect: (config) => {
      outcome.connected.push(config);
      return Promise.resolve(0);
    },
    pin: (config, { servers }) => {
      outcome.out += `pin ${config.servers.length} ${servers.join()}`;
      return Promise.resolve(1);
    },
  });
  return outcome;
}

describe('sluice', () => {
  it('prints its version and help to stdout', async () => {
    expect(await sluice('--version')).toMatchObject({
      status: 0,
      out: `${packageVersion()}\n`,
      err: '',
    });
    expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
    for (const command of COMMANDS) {
      const { status, out, err } = await sluice(`${command} --help`);
      expect({ status, err }).toEqual({ status: 0, err: '' });
      expect(out).toContain(`sluice ${command}`);
    }
    expect((await sluice('--help')).out).toContain(
      "Exit status: 0 success, 1 can't start, 2 wrong usage, 70 internal error, 143 after a second SIGTERM",
    );
  });

  it('answers a usage error with 2 and where to find help', async () => {
    expect(await sluice('serve x')).toMatchObject({ status: 2, out: '', started: [] });
    expect((await sluice('')).err).toBe('sluice: no command given\nSee sluice --help\n');
  });

  it('answers a fault of its own with 70', async () => {
    const errors: string[] = [];
    const status = await main(['run', '--', 'cat'], {
      cwd: folder,
      environment: {},
      out: () => {},
      err: (text) => errors.push(text),
      startGateway: () => Promise.reject(new Error('broken')),
      connect: () => Promise.resolve(0),
      pin: () => Promise.resolve(0),
    });
    expect(status).toBe(70);
    expect(errors.join('')).toContain('internal error: Error: broken');
  });
});

describe('sluice check', () => {
  it('says which name a server of a host has', async () => {
    const { status, out, err } = await sluice('check --config named.json');
    expect(status).toBe(0);
    expect(err).toContain(
      'named.json:1:16: mcpServers."My Cat": is the server my-cat here (note)\n',
    );
    expect(out).toContain('  my-cat:\n');
  });

  it('refuses arguments in a command, whether the program is there or not', async () => {
    const outcome = await sluice('check --config line.json');
    expect(outcome).toMatchObject({ status: 1, out: '' });
    expect(outcome.err).toBe(
      'line.json:1:31: mcpServers.a.command: is "npx -y pkg", a whole command line: must be the program alone, put its arguments in args: command: npx, args: [-y, pkg]\n',
    );
    expect(await sluice('serve --config line.json')).toMatchObject({ status: 1, started: [] });
  });

  it('finds config/sluice.yaml and prints it resolved', async () => {
    const { status, out, err } = await sluice('check', repository);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(out).toContain('everything:');
    expect(out).toContain('requestMax: 10m');
  });

  it('masks secrets', async () => {
    const { status, out } = await sluice('check -c secret.yaml');
    expect(status).toBe(0);
    expect(out).toContain('A: "***"');
    expect(out).not.toContain('from-outside');
  });

  it('prints one line for each fault to stderr and answers with 1', async () => {
    expect(await sluice('check --config bad.yaml')).toMatchObject({
      status: 1,
      out: '',
      err:
        'bad.yaml:2:8: servers.a.comand: unknown key "comand": did you mean command?\n' +
        'bad.yaml:3:3: servers.B: is not a server name: must be 1 to 32 of a-z, 0-9 and -, and must not start with -, such as b\n',
    });
  });

  it('prints warnings to stderr', async () => {
    const { status, err } = await sluice('check --config hosts.json');
    expect(status).toBe(0);
    expect(err).toMatch(/^hosts\.json:1:\d+: mcpServers\.a\.timeout: .* \(warning\)\n$/);
  });

  it('looks whether what is named is there: what may come later is a warning', async () => {
    const { status, err } = await sluice('check -c later.yaml');
    expect(status).toBe(0);
    expect(err).toBe(
      'later.yaml:1:26: servers.a.command: is "no-such-tool", but there is no such program on PATH: install it, or write its path (warning)\n',
    );
    const { started } = await sluice('serve -c later.yaml');
    expect(started[0]?.options.warnings).toHaveLength(1);
  });

  it('looks whether what is named is there: what nothing starts without is an error', async () => {
    const { status, out, err } = await sluice('check -c keys.yaml');
    expect({ status, out }).toEqual({ status: 1, out: '' });
    expect(err).toMatch(
      /^keys\.yaml:2:23: auth\.keys\.file: is .*, which has no key yet: make one/,
    );
    expect(await sluice('serve -c keys.yaml')).toMatchObject({ status: 1, started: [] });
    // How else would one be made?
    expect((await sluice('keys list -c keys.yaml')).err).not.toContain('auth.keys.file');
  });

  it('says what to do when there is no configuration', async () => {
    const { status, err } = await sluice('check');
    expect(status).toBe(1);
    expect(err).toContain('neither sluice.yaml nor config/sluice.yaml is in');
    expect(err).toContain('--config FILE');
  });
});

describe('sluice serve', () => {
  it('starts the gateway with the configuration, its warnings and secrets', async () => {
    const { status, started } = await sluice('serve -c secret.yaml --exit-with-parent');
    expect(status).toBe(0);
    expect(started[0]?.config.file).toBe(join(folder, 'secret.yaml'));
    expect(started[0]?.options).toEqual({
      version: packageVersion(),
      exitWithParent: true,
      needsServer: false,
      warnings: [],
      secrets: new Set(['from-outside']),
      files: [join(folder, 'secret.yaml'), join(folder, 'secret.lock.json')],
      reread: expect.any(Function),
    });
    expect((await sluice('serve -c hosts.json')).started[0]?.options.warnings).toHaveLength(1);
  });

  it('takes flags in the place of what the file says', async () => {
    const { started } = await sluice('serve -c ports.yaml --port 8090 --host ::1 --admin-port 0');
    expect(started[0]?.config).toMatchObject({
      listen: { host: '::1', port: 8090, maxBody: 1024 * 1024 },
      admin: { host: '127.0.0.1', port: 0, socket: undefined },
    });
    expect((await sluice('serve -c secret.yaml -p 0')).started[0]?.config.listen.port).toBe(0);
  });

  it('names the flag that is wrong, and the same rules hold', async () => {
    const { status, err, started } = await sluice('serve -c ports.yaml -p 70000 --host 0.0.0.0');
    expect({ status, started }).toEqual({ status: 1, started: [] });
    expect(err).toContain('--port is the number 70000, must be');
    expect(err).toMatch(/^--host is reachable from other machines and no authentication/m);
  });

  it('starts nothing with a faulty configuration', async () => {
    expect(await sluice('serve -c bad.yaml')).toMatchObject({ status: 1, started: [] });
    expect(await sluice('serve -c missing.yaml')).toMatchObject({
      status: 1,
      err: "missing.yaml:1:1: the file can't be used, there is no such file\n",
    });
  });
});

describe('sluice run', () => {
  it('starts one server from flags', async () => {
    const { started } = await sluice('run --port 0 --sharing principal -- ./bin/x a --b');
    const config = started[0]?.config;
    expect(config).toMatchObject({
      file: undefined,
      listen: { host: '127.0.0.1', port: 0 },
      admin: { host: '127.0.0.1', port: 0 },
    });
    expect(config?.servers).toHaveLength(1);
    const [server] = config?.servers ?? [];
    expect({ ...server, ...processTarget(server) }).toMatchObject({
      name: 'server',
      command: join(folder, 'bin/x'),
      args: ['a', '--b'],
      cwd: folder,
      sharing: 'principal',
    });
    expect((await sluice('run -- cat')).started[0]?.config.listen.port).toBe(8080);
  });

  it('does not interpolate arguments: the shell has done so', async () => {
    const { started } = await sluice('run -- cat ${HOME}');
    expect(processTarget(started[0]?.config.servers[0]).args).toEqual(['${HOME}']);
  });

  it('names the flag that is wrong', async () => {
    const { status, err, started } = await sluice(
      'run --host 0.0.0.0 --port 70000 --sharing x -- y',
    );
    expect({ status, started }).toEqual({ status: 2, started: [] });
    expect(err).toContain('sluice: --port is the number 70000, must be');
    expect(err).toContain('sluice: --host is reachable from other machines');
    expect(err).toContain('or add --allow-unauthenticated');
    expect(err).toContain('sluice: --sharing is "x", must be one of shared, principal, session');
  });

  it('warns about an open host', async () => {
    const { started } = await sluice('run --host 0.0.0.0 --allow-unauthenticated -- cat');
    expect(started[0]?.options.warnings).toEqual([
      '--host is served to other machines without authentication, since --allow-unauthenticated is given',
    ]);
  });
});

describe('sluice run with a program that is not there', () => {
  it.each([
    ['no-such-prog', 'COMMAND is "no-such-prog", but there is no such program on PATH: install'],
    ['bin/y', 'but there is no such file that may be run'],
  ])('%s: says so and ends', async (program, message) => {
    const { status, err, started } = await sluice(`run --sharing session -- ${program}`);
    expect({ status, started }).toEqual({ status: 1, started: [] });
    expect(err).toContain(message);
  });
});

describe('sluice pin', () => {
  it('is given the configuration and what to look at', async () => {
    const outcome = await sluice('pin --config hosts.json --server a');
    expect(outcome).toMatchObject({ status: 1, out: 'pin 1 a', err: '' });
    expect(await sluice('pin --config none.yaml')).toMatchObject({ status: 1, out: '' });
    expect(await sluice('pin')).toMatchObject({ status: 1, out: '' });
  });
});

describe('sluice connect', () => {
  it('has one remote server, with the given headers, for one client', async () => {
    const { status, connected } = await sluice('connect http://127.0.0.1:1/mcp -H X-A:b');
    expect(status).toBe(0);
    expect(connected[0]?.servers).toMatchObject([
      {
        target: { kind: 'remote', url: 'http://127.0.0.1:1/mcp', headers: { 'x-a': 'b' } },
        sharing: 'session',
        start: 'lazy',
      },
    ]);
  });

  it('names what is wrong', async () => {
    const { status, err, connected } = await sluice('connect ftp://x --header Host:x');
    expect({ status, connected }).toEqual({ status: 2, connected: [] });
    expect(err).toContain('sluice: URL is "ftp://x", must be an http or https URL');
    expect(err).toContain('sluice: --header is a map, must have only names of headers that');
    expect(err).toContain('See sluice connect --help');
  });
});
