// The files of the container agree with each other and with the gateway's configuration.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { load } from '../../../src/config/load.ts';
import { processTarget } from '../../support/process-target.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const { config } = load(join(root, 'deploy', 'sluice.yaml'));

describe('E09 the container', () => {
  test('serves a port that is published on the host’s loopback only', () => {
    const { services } = parse(read('deploy/compose.yaml'));
    const published = [...services.sluice.ports, ...services.prometheus.ports];
    expect(services.sluice.ports).toEqual([`127.0.0.1:8080:${config.listen.port}`]);
    for (const port of published) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  test('is scraped and checked for health where the admin listener is', () => {
    const prometheus = parse(read('deploy/prometheus.yml'));
    const [target] = prometheus.scrape_configs[0].static_configs[0].targets;
    expect(target).toBe(`sluice:${config.admin.port}`);
    expect(read('Dockerfile')).toContain(`http://127.0.0.1:${config.admin.port}/healthz`);
  });

  test('has more time to stop than the gateway takes to drain', () => {
    const { services } = parse(read('deploy/compose.yaml'));
    expect(Number.parseInt(services.sluice.stop_grace_period, 10) * 1000).toBeGreaterThan(
      config.drain,
    );
  });

  test('gives clients that are gone up in minutes, not in a quarter of an hour', () => {
    const { services } = parse(read('deploy/compose.yaml'));
    expect(services.sluice.sysctls['net.ipv4.tcp_retries2']).toBeLessThanOrEqual(8);
    expect(read('docs/operations.md')).toContain('net.ipv4.tcp_retries2=8');
  });

  test('installs the example server in the version that the tests use', () => {
    const version = JSON.parse(read('package.json')).devDependencies[
      '@modelcontextprotocol/server-everything'
    ];
    expect(read('deploy/Dockerfile.example')).toContain(`server-everything@${version}`);
    expect(config.servers.map((server) => processTarget(server).command)).toEqual([
      'mcp-server-everything',
    ]);
  });

  test('has the command on PATH, as npm installs it, and is started by it', () => {
    const dockerfile = read('Dockerfile');
    const { bin } = JSON.parse(read('package.json'));
    expect(dockerfile).toContain(`ln -s /app/${bin.sluice} /usr/local/bin/sluice`);
    expect(dockerfile).toContain('ENTRYPOINT ["tini", "--", "sluice"]');
  });

  test('keeps its data in a volume that the image prepares for its user', () => {
    const dockerfile = read('Dockerfile');
    const { services, volumes } = parse(read('deploy/compose.yaml'));
    const [, folder = 'none'] = /\bSLUICE_DATA=(\S+)/.exec(dockerfile) ?? [];
    const [, user = 'none'] = /^USER (\d+):/m.exec(dockerfile) ?? [];
    expect(dockerfile).toContain(`VOLUME ${folder}\n`);
    expect(dockerfile).toContain(`--mode=0700 --owner=${user} --group=${user} ${folder}\n`);
    expect(services.sluice.volumes).toContain(`data:${folder}`);
    expect(volumes).toHaveProperty('data');
  });

  test('has the allocator with which memory is measured in npm run attack', () => {
    const dockerfile = read('Dockerfile');
    expect(dockerfile).toMatch(/apt-get install .*\blibjemalloc2\b/);
    for (const name of ['LD_PRELOAD', 'MALLOC_CONF']) {
      expect(dockerfile).toMatch(new RegExp(`^  ${name}=\\S+`, 'm'));
      expect(read('test/attack/subject.ts')).toContain(name);
    }
  });

  test('copies only what its ignore file lets in', () => {
    const allowed =
      read('.dockerignore')
        .match(/^!.+$/gm)
        ?.map((line) => line.slice(1)) ?? [];
    const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(
      ([, sources]) => sources?.split(' ') ?? [],
    );
    expect(copied.length).toBeGreaterThan(3);
    for (const source of copied) expect(allowed).toContain(source);
    for (const path of allowed) expect(existsSync(join(root, path))).toBe(true);
  });
});
