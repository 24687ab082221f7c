/**
 * What is learned of a server's tools from the server requests that it asks.
 */
import { expect, it } from 'vitest';
import type { Frame } from '../../../src/jsonrpc/frame.ts';
import { scan } from '../../../src/jsonrpc/scan.ts';
import { DIALECTS } from '../../../src/mux/dialect.ts';
import { InteractiveTools } from '../../../src/mux/interactive-tools.ts';

const request = (method: string, name: string): Frame => {
  const message = { jsonrpc: '2.0', id: 1, method, params: { name } };
  return scan(Buffer.from(JSON.stringify(message)), DIALECTS.mcp);
};
const call = (tool: string): Frame => request('tools/call', tool);

/** A call of a tool that was sent as one that asks, or may. */
const answered = (tool: string) => ({ id: 1, interactiveTool: tool, tool });

it('knows nothing at first', () => {
  expect(new InteractiveTools().match(call('ask'))).toBeUndefined();
});

it('knows a tool for good when every candidate calls it', () => {
  const tools = new InteractiveTools();
  tools.learn(['ask', 'ask']);
  expect(tools.match(call('ask'))).toBe('ask');
  tools.noteQuiet(answered('ask'));
  expect(tools.match(call('ask'))).toBe('ask');
  expect(tools.match(call('echo'))).toBeUndefined();
  expect(tools.match(request('prompts/get', 'ask'))).toBeUndefined();
});

it('suspects each of several tools until a call of it asks nothing', () => {
  const tools = new InteractiveTools();
  tools.learn(['ask', 'echo']);
  expect(tools.match(call('ask'))).toBe('ask');
  expect(tools.match(call('echo'))).toBe('echo');
  tools.noteQuiet(answered('echo'));
  expect(tools.match(call('echo'))).toBeUndefined();
  tools.learn(['ask']);
  tools.noteQuiet(answered('ask'));
  expect(tools.match(call('ask'))).toBe('ask');
});

it('suspects nobody where it is told not to', () => {
  const tools = new InteractiveTools();
  tools.learn(['ask', 'echo'], false);
  expect(tools.match(call('ask'))).toBeUndefined();
  tools.learn(['ask', 'ask'], false);
  expect(tools.match(call('ask'))).toBe('ask');
});

it('only suspects a tool beside a request that calls none', () => {
  const tools = new InteractiveTools();
  tools.learn(['ask', undefined]);
  expect(tools.match(call('ask'))).toBe('ask');
  tools.noteQuiet(answered('ask'));
  expect(tools.match(call('ask'))).toBeUndefined();
});

it('changes its version with every name that is new', () => {
  const tools = new InteractiveTools();
  const versions = [tools.version];
  tools.learn(['ask', 'echo']);
  versions.push(tools.version);
  tools.learn(['ask']);
  expect(tools.version).toBe(versions[1]);
  tools.noteQuiet(answered('echo'));
  tools.learn(['echo']);
  versions.push(tools.version);
  expect(new Set(versions).size).toBe(3);
});

it('hardly suspects a tool that was called before, and asked nothing', () => {
  const tools = new InteractiveTools();
  for (let id = 1; id <= 8; id++) {
    tools.noteQuiet({ id, interactiveTool: undefined, tool: 'echo' });
  }
  tools.learn(['ask', 'echo']);
  expect(tools.isHardlySuspected('echo')).toBe(true);
  expect(tools.isHardlySuspected('ask')).toBe(false);
  expect(tools.isHardlySuspected('other')).toBe(false);
  tools.learn(['echo']);
  expect(tools.isHardlySuspected('echo')).toBe(false);
  tools.noteQuiet({ id: 8, interactiveTool: undefined, tool: 'echo' });
  tools.learn(['ask', 'echo']);
  expect(tools.isHardlySuspected('echo')).toBe(false);
});
