// Makes a fresh clone ready: installs the locked dependencies when they are missing or out of date.
// Plain JavaScript in old syntax on purpose, since the shell's Node may be older than the one we run on
// (the dev dependency `node` brings that one).
import { execSync } from 'node:child_process';
import { existsSync, lstatSync, statSync } from 'node:fs';

const installed = 'node_modules/.package-lock.json';
const lock = 'package-lock.json';
// Those of another checkout, as worktrees link to them: npm would empty that folder under its users.
const isForeign = existsSync('node_modules') && lstatSync('node_modules').isSymbolicLink();
const isCurrent = existsSync(installed) && statSync(installed).mtimeMs >= statSync(lock).mtimeMs;

if (!isCurrent && !isForeign) {
  console.error('sluice: installing dependencies (npm ci), once per change of package-lock.json');
  execSync('npm ci --no-audit --no-fund --loglevel=error', { stdio: ['ignore', 2, 2] });
}
