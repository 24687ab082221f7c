// What `sluice check` prints.
import { describe, expect, it } from 'vitest';
import { loadText } from '../../../src/config/load.ts';
import { checkReport } from '../../../src/config/report.ts';

const FILE = '/etc/sluice/s.yaml';
const environment = { TOKEN: 'hunter2hunter2', SHORT: 'ab', LEVEL: 'info', HOME: '/home/u' };

describe('the report', () => {
  it('masks what came from outside and what looks like a secret', () => {
    const text = `
log: { level: "\${LEVEL}" }
servers:
  a:
    command: "\${HOME}/bin/x"
    args: ["--header=\${TOKEN}", "\${SHORT}", "--api-key", "typed-1", "--secret=typed-2", "table"]
    env: { A: "Bearer \${TOKEN}", API_KEY: typed-3, dbPassword: typed-4, PLAIN: "\${NOPE:-plain}" }
  b: { url: "https://x/mcp", headers: { Authorization: "Bearer typed-5", X-A: "\${TOKEN}" } }
  c: { url: "https://x/mcp", proxy: "http://me:typed-6@proxy.example:3128" }
  d: { command: x, tools: { overrides: { t: { arguments: { key: { value: ["\${TOKEN}"] } } } } } }
`;
    const report = checkReport(loadText(FILE, text, environment));
    expect(report).not.toMatch(/hunter2|typed|\bab\b|\/home\/u/);
    expect(report).toContain('level: info');
    expect(report).toContain('command: "***/bin/x"');
    expect(report).toContain('- --header=***');
    expect(report).toContain('A: Bearer ***');
    expect(report).toContain('API_KEY: "***"');
    expect(report).toContain('PLAIN: plain');
    expect(report).toContain('- table');
    expect(report).toContain('proxy: http://***@proxy.example:3128');
  });

  it('loads back to the same configuration', () => {
    const text = `
listen: { publicUrl: "https://x.example/p", maxBody: 65KiB, allowedHosts: [a.example] }
drain: 1500ms
servers:
  a: { command: ./x, args: ["yes", "1", "- x", "multi\\nline"], env: { N: "3" }, cwd: d, replicas: 3, roots: [{ uri: "file:///r", name: R }] }
  b: { command: y, protocol: jsonrpc, framing: content-length, timeouts: { idle: 90s }, limits: { message: 1025B } }
  c: { url: "https://x.example/mcp", transport: sse, headers: { X-Plain: "1 2" }, sharing: principal, pin: warn, validateArguments: enforce, proxy: none }
  d: { command: z, resources: { deny: ["a:*"] }, prompts: { rename: { p: q } }, tools: { allow: [x], rename: { x: y },
       overrides: { x: { title: T, annotations: { readOnlyHint: true }, timeout: 3s, concurrency: 2,
                         arguments: { v: { value: { n: [1, null] } }, w: { default: text } } } } } }
endpoints:
  /: { prefix: onConflict, separator: "-", listTimeout: 2s }
  /team/x: { servers: [d, a], toolList: search, pin: enforce, shape: { d: { tools: { deny: ["y*"] } } } }
`;
    const loaded = loadText(FILE, text, {});
    expect(loadText(FILE, checkReport(loaded), {}).config).toEqual(loaded.config);
  });
});
