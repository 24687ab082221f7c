#!/usr/bin/env -S node --disable-sigusr1 --initial-old-space-size=96
// The installed command. Runs what `npm run build` made. The flags: no debugger opens on a signal;
// docs/operations.md, Memory.
import '../dist/main.js';
