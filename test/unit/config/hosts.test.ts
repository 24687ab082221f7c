// Files as each host writes them: test/fixtures/hosts has one of each.
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LoadedConfig, load } from '../../../src/config/load.ts';
import { checkReport } from '../../../src/config/report.ts';

const ROOT = resolve(import.meta.dirname, '../../fixtures/hosts');

const environment = {
  HOME: '/home/ann',
  API_KEY: 'key-from-outside',
  DSN: 'sqlite:x',
  TEAM: 'blue',
  LOCAL_TOKEN: 'local',
};

function read(file: string): LoadedConfig {
  return load(join(ROOT, file), environment);
}

/** What is said against a file, as `path: message`. */
function warnings({ warnings: found }: LoadedConfig): string[] {
  return found.map(({ path, message }) => `${path}: ${message}`);
}

/** What is served, without what is as by default. */
function served({ config }: LoadedConfig) {
  return config.servers.map(({ name, target, timeouts }) => {
    const { start, request, requestMax } = {
      start: timeouts.start === 30_000 ? undefined : timeouts.start,
      request: timeouts.request === 60_000 ? undefined : timeouts.request,
      requestMax: timeouts.requestMax === 600_000 ? undefined : timeouts.requestMax,
    };
    const { allow, deny } = config.catalogOptionsOf.get(name)?.tools ?? {};
    const where =
      target.kind === 'remote'
        ? { url: target.url, transport: target.transport, headers: target.headers }
        : {
            command: [target.command, ...target.args],
            cwd: target.cwd.replace(ROOT, ''),
            env: target.env,
            inheritEnv: target.inheritEnv,
          };
    const all = { name, ...where, start, request, requestMax, allow, deny };
    return Object.fromEntries(
      Object.entries(all).filter(
        ([, value]) =>
          value !== undefined && JSON.stringify(value) !== '{}' && String(value) !== '',
      ),
    );
  });
}

describe('a file of', () => {
  it('Claude Desktop is served as it is', () => {
    const loaded = read('claude-desktop/claude_desktop_config.json');
    const cwd = '/claude-desktop';
    const name = '@modelcontextprotocol/server';
    expect(served(loaded)).toEqual([
      {
        name: 'filesystem',
        command: ['npx', '-y', `${name}-filesystem`, '/home/ann/Desktop'],
        cwd,
      },
      {
        name: 'my-github',
        command: ['npx', '-y', `${name}-github`],
        env: { GITHUB_PERSONAL_ACCESS_TOKEN: 'ghp_in_the_file' },
        cwd,
      },
    ]);
    expect(warnings(loaded)).toEqual(['globalShortcut: is not an option here: ignored']);
  });

  it('Claude Code has types, and variables with defaults', () => {
    const loaded = read('claude-code/.mcp.json');
    expect(served(loaded)).toEqual([
      {
        name: 'api',
        url: 'https://api.example.com/mcp',
        transport: 'auto',
        headers: { authorization: 'Bearer key-from-outside' },
      },
      { name: 'events', url: 'https://events.example.com/sse', transport: 'sse' },
      {
        name: 'db',
        command: ['uvx', 'db-server', '--dsn', 'sqlite:x'],
        env: { CACHE_DIR: '/tmp' },
        cwd: '/claude-code',
      },
    ]);
    expect(warnings(loaded)).toEqual([]);
  });

  it('Cursor has variables of its own, and its project is where servers work', () => {
    const loaded = read('cursor/.cursor/mcp.json');
    expect(served(loaded)).toEqual([
      {
        name: 'local',
        command: ['python', `${ROOT}/cursor/tools/server.py`, '--cache', '/home/ann/.cache'],
        env: { API_KEY: 'key-from-outside' },
        cwd: '/cursor',
      },
      {
        name: 'remote',
        url: 'https://mcp.example.com/mcp',
        transport: 'auto',
        headers: { authorization: 'Bearer key-from-outside' },
      },
      { name: 'with-login', url: 'https://login.example.com/mcp', transport: 'auto' },
    ]);
    expect(warnings(loaded)).toEqual([
      'mcpServers.with-login.auth: is for the login that the host does: ignored, give the server headers, or an auth with a type',
    ]);
  });

  it('VS Code has servers with types, comments, and numbers in env', () => {
    const loaded = read('vscode/.vscode/mcp.json');
    expect(served(loaded)).toEqual([
      {
        name: 'playwright',
        command: ['npx', '-y', '@playwright/mcp@latest'],
        env: { PORT: '3000' },
        cwd: '/vscode/web',
      },
      {
        name: 'github',
        url: 'https://api.githubcopilot.com/mcp/',
        transport: 'auto',
        headers: { 'x-team': 'blue' },
      },
    ]);
    expect(warnings(loaded)).toEqual([]);
  });

  it('Gemini CLI shows the tools that it includes, and leaves out the servers that it excludes', () => {
    const loaded = read('gemini/.gemini/settings.json');
    expect(served(loaded)).toEqual([
      {
        name: 'python',
        command: ['python', '-m', 'my_server', '--dsn=sqlite:x'],
        env: { API_KEY: 'key-from-outside', REGION: 'eu' },
        cwd: '/gemini/mcp-servers/python',
        request: 15_000,
        allow: ['safe_tool', 'reader'],
        deny: ['dangerous_tool'],
      },
      {
        name: 'http',
        url: 'http://localhost:3000/mcp',
        transport: 'streamable-http',
        headers: { authorization: 'Bearer key-from-outside' },
        request: 900_000,
        requestMax: 900_000,
      },
      { name: 'sse', url: 'http://localhost:8080/sse', transport: 'sse' },
    ]);
    expect(warnings(loaded)).toEqual(['general: is not an option here: ignored, as is security']);
  });

  it('Zed is read in both forms, and without its extensions that are off', () => {
    expect(served(read('zed/settings.json'))).toEqual([
      { name: 'flat', command: ['uvx', 'flat-server'], env: { LEVEL: '1' }, cwd: '/zed' },
      {
        name: 'nested',
        command: ['/usr/bin/nested-server', '--stdio'],
        env: { LEVEL: '2' },
        cwd: '/zed',
      },
      {
        name: 'remote',
        url: 'https://zed.example.com/mcp',
        transport: 'auto',
        headers: { authorization: 'Bearer abc' },
      },
    ]);
  });

  it('opencode has commands that are lists, and variables of its own', () => {
    expect(served(read('opencode/opencode.jsonc'))).toEqual([
      {
        name: 'everything',
        command: ['npx', '-y', '@modelcontextprotocol/server-everything'],
        env: { KEY: 'key-from-outside' },
        cwd: '/opencode',
      },
      {
        name: 'docs',
        url: 'https://mcp.example.com/mcp',
        transport: 'auto',
        headers: { 'x-key': 'key-from-outside' },
      },
    ]);
  });

  it('Codex is TOML: lists of tools, timeouts, and headers from variables', () => {
    const loaded = read('codex/.codex/config.toml');
    expect(served(loaded)).toEqual([
      {
        name: 'context7',
        command: ['npx', '-y', '@upstash/context7-mcp'],
        env: { MODE: 'fast' },
        inheritEnv: ['LOCAL_TOKEN', 'TEAM'],
        cwd: '/codex',
        start: 20_000,
        request: 45_500,
        allow: ['search', 'fetch'],
        deny: ['fetch'],
      },
      {
        name: 'figma',
        url: 'https://mcp.figma.com/mcp',
        transport: 'auto',
        headers: {
          authorization: 'Bearer key-from-outside',
          'x-figma-region': 'us-east-1',
          'x-team': 'blue',
        },
      },
    ]);
    expect(checkReport(loaded)).not.toMatch(/key-from-outside|blue/);
    expect(warnings(loaded)).toEqual([
      'model: is not an option here: ignored, as are approval_policy, features',
    ]);
  });

  it('Cline counts timeouts in seconds', () => {
    const loaded = read('cline/cline_mcp_settings.json');
    expect(served(loaded)).toEqual([
      {
        name: 'local-server',
        command: ['node', '/path/to/server.js'],
        env: { API_KEY: 'your_api_key' },
        cwd: '/cline',
        request: 90_000,
      },
      {
        name: 'remote-server',
        url: 'https://your-server.example.com/mcp',
        transport: 'streamable-http',
        headers: { authorization: 'Bearer your-token' },
      },
    ]);
    expect(warnings(loaded)).toEqual([]);
  });

  it('Windsurf has serverUrl, and tools that are disabled', () => {
    const loaded = read('windsurf/mcp_config.json');
    expect(served(loaded)).toEqual([
      {
        name: 'figma',
        url: 'https://mcp.example.com/mcp',
        transport: 'auto',
        headers: { api_key: 'Bearer key-from-outside' },
        deny: ['delete_file'],
      },
      {
        name: 'git-hub',
        command: ['npx', '-y', 'server-github'],
        env: { TOKEN: 'key-from-outside' },
        cwd: '/windsurf',
      },
    ]);
    expect(warnings(loaded)).toEqual([]);
  });
});
