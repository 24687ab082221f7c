// The program's first module: checks the version of Node before anything that needs a newer one is
// loaded, so no static imports here.
export {};

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 23)) {
  process.stderr.write(
    `sluice needs Node 22.23 or newer, this is ${process.version} (in a clone: npm start)\n`,
  );
  process.exitCode = 1;
} else {
  const { main } = await import('./cli/commands.ts');
  const status = await main(process.argv.slice(2));
  // Not only exitCode: a handle that a stopped gateway forgot must not keep the process.
  process.stdout.write('', () => process.exit(status));
}
