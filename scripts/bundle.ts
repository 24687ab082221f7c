// `npm run build`: the sources as few files in dist/. A module takes memory and time in every process of a
// user. Most of zod is never used, so it is built in without that; the other packages stay packages.
import { join } from 'node:path';
import { build } from 'vite';

const ROOT = join(import.meta.dirname, '..');
const VALIDATION = 'src/catalog/validation';

await build({
  root: ROOT,
  configFile: false,
  logLevel: 'warn',
  ssr: { noExternal: ['zod'] },
  build: {
    ssr: true,
    target: 'node22',
    minify: false,
    sourcemap: true,
    rolldownOptions: {
      // The others are started by their path, beside the file that starts them.
      input: [
        'src/main.ts',
        `${VALIDATION}/validation-process.ts`,
        `${VALIDATION}/orphan-guard.ts`,
      ],
      output: {
        entryFileNames: ({ name }) => (name === 'main' ? 'main.js' : 'parts/[name].js'),
        chunkFileNames: 'parts/[name].js',
        // A third of the text, which V8 keeps.
        comments: false,
      },
    },
  },
});
