#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 node --disable-sigusr1 --expose-gc --v8-pool-size=2 --initial-old-space-size=96 --max-semi-space-size=8
// The installed command. Runs what `npm run build` made. No debugger opens on a signal; all else in the
// line above: docs/operations.md, Memory.
import '../dist/main.js';
