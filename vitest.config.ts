import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

/** Tests that put something in place of a module: it has to be loaded anew for each file. */
const MOCKING = globSync('test/{unit,property}/**/*.test.ts').filter((file) =>
  /vi\.mock\(|scanned-bytes/.test(readFileSync(file, 'utf8')),
);

// `fast` and `fast-mocking` run on every save, `slow` opens real sockets and starts processes. But for
// tests with mocks a worker loads modules once, not once a file.
export default defineConfig({
  test: {
    reporters: ['default'],
    globalSetup: ['test/support/temp-root.ts'],
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/{unit,property,arch,pins}/**/*.test.ts'],
          exclude: MOCKING,
          isolate: false,
          restoreMocks: true,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'fast-mocking',
          include: MOCKING,
          restoreMocks: true,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'slow',
          // After the others: projects with their own number of workers can't run among them.
          sequence: { groupOrder: 1 },
          include: ['test/{integration,e2e,regress}/**/*.test.ts'],
          pool: 'forks',
          isolate: false,
          maxWorkers: 3,
          restoreMocks: true,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
