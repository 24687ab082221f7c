import { defineConfig } from 'vitest/config';

// Two projects: `fast` runs on every save, `slow` opens real sockets and starts processes.
export default defineConfig({
  test: {
    reporters: ['default'],
    globalSetup: ['test/support/temp-root.ts'],
    projects: [
      {
        test: {
          name: 'fast',
          include: ['test/{unit,property,arch,pins}/**/*.test.ts'],
          restoreMocks: true,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'slow',
          include: ['test/{integration,e2e,regress}/**/*.test.ts'],
          pool: 'forks',
          maxWorkers: 3,
          // The gateway's modules are loaded once a worker, not once a file.
          isolate: false,
          restoreMocks: true,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
